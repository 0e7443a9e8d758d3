import Foundation

/// The location of the programs under test.
package enum TestBinaries {
    /// Whether the programs were chosen explicitly. `scripts/test --all` chooses release builds.
    package static var areChosen: Bool { chosenFolder != nil }

    private static var chosenFolder: String? {
        ProcessInfo.processInfo.environment["ISSUED_TEST_BINARIES"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the path of a program: in `ISSUED_TEST_BINARIES` or, if it is not there, where the tests were built.
    /// Throws `Missing` if it is in neither.
    package static func path(of name: String) throws -> String {
        let folder = chosenFolder ?? URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path()
        for candidate in [folder, buildFolder].compactMap({ $0 }) {
            let path = URL(filePath: candidate).appending(path: name).path()
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw Missing(name: name, folder: folder)
    }

    /// The folder of the test product; nil if unknown. Another program loads the product, so the path is read from the
    /// kernel.
    private static let buildFolder: String? = {
        guard let maps = try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8) else { return nil }
        for line in maps.split(separator: "\n") {
            guard let start = line.firstIndex(of: "/"), line.hasSuffix(".xctest") else { continue }
            return URL(filePath: String(line[start...])).deletingLastPathComponent().path()
        }
        return nil
    }()

    struct Missing: Error, CustomStringConvertible {
        let name: String
        let folder: String
        var description: String { "Program \(name) not found in \(folder). Build it, or set ISSUED_TEST_BINARIES." }
    }

    /// The folder of the repository, derived from the path of this file.
    package static let repository = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path()

    /// A Python interpreter with the package `varlink`, or nil if there is none. `ISSUED_TEST_PYTHON` changes the path.
    package static var python: String? {
        let chosen =
            ProcessInfo.processInfo.environment["ISSUED_TEST_PYTHON"] ?? "\(repository).build/python/bin/python"
        return FileManager.default.isExecutableFile(atPath: chosen) ? chosen : nil
    }

    /// The Python interpreter of the host, which every user can run.
    package static var python3: String {
        get throws {
            guard let path = tool("/usr/bin/python3", "/usr/local/bin/python3") else {
                throw Missing(name: "python3", folder: "/usr/bin")
            }
            return path
        }
    }

    /// systemd's program that passes sockets to a daemon, or nil if it is not installed.
    package static var socketActivator: String? {
        tool("/usr/bin/systemd-socket-activate", "/bin/systemd-socket-activate")
    }

    /// Returns the first of these paths that is an executable, or nil if none is.
    package static func tool(_ candidates: String...) -> String? {
        candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
