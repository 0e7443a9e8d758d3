import Foundation

/// Where the programs under test are.
package enum TestBinaries {
    /// Whether somebody has chosen them, as `scripts/test` does with those that are shipped.
    package static var areChosen: Bool { chosenFolder != nil }

    private static var chosenFolder: String? {
        ProcessInfo.processInfo.environment["ISSUED_TEST_BINARIES"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The path of one of them: from `ISSUED_TEST_BINARIES`, else as built together with the tests.
    package static func path(of name: String) throws -> String {
        let folder = chosenFolder ?? URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path()
        for candidate in [folder, buildFolder].compactMap({ $0 }) {
            let path = URL(filePath: candidate).appending(path: name).path()
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw Missing(name: name, folder: folder)
    }

    /// The test product is loaded by another program; the kernel knows from where.
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
        var description: String { "There is no program \(name) in \(folder); build it, or set ISSUED_TEST_BINARIES." }
    }

    /// The repository's folder, by where this file lies in it.
    package static let repository = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path()

    /// A Python that has the package `varlink`, if the tests were given one.
    package static var python: String? {
        let chosen =
            ProcessInfo.processInfo.environment["ISSUED_TEST_PYTHON"] ?? "\(repository).build/python/bin/python"
        return FileManager.default.isExecutableFile(atPath: chosen) ? chosen : nil
    }

    /// The first of these that is a program here.
    package static func tool(_ candidates: String...) -> String? {
        candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
