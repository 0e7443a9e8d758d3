import Foundation
package import IssueTestSupport

/// The libraries in `Tests/Faults` and `Tests/FaultVFS`, built for this machine.
package enum FaultLibrary {
    /// It could not be built.
    struct NotBuilt: Error, CustomStringConvertible {
        let description: String
    }

    /// Builds it into a folder, and answers its path.
    package static func build(in folder: ScratchFolder) throws -> String {
        try build("Faults", to: "libfaults.so", ["-Wshadow", "-D_LARGEFILE64_SOURCE"], ["-ldl"], in: folder)
    }

    /// Builds the one that makes a folder a disk that loses what was not synced; see `Tests/FaultVFS/preload.c`.
    package static func buildDisk(in folder: ScratchFolder) throws -> String {
        try build(
            "FaultVFS", to: "libfaultvfs.so",
            ["-DFAULTVFS_PRELOAD", "-I\(TestBinaries.repository)Tests/FaultVFS/include"], ["-lsqlite3", "-ldl"],
            in: folder)
    }

    private static func build(
        _ name: String, to library: String, _ options: [String], _ libraries: [String], in folder: ScratchFolder
    ) throws -> String {
        let sources = "\(TestBinaries.repository)Tests/\(name)"
        let files = try FileManager.default.contentsOfDirectory(atPath: sources).filter { $0.hasSuffix(".c") }.sorted()
        guard let compiler = TestBinaries.tool("/usr/bin/cc", "/usr/local/bin/cc") else {
            throw NotBuilt(description: "There is no cc.")
        }
        let process = try ChildProcess(
            compiler,
            [
                "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wstrict-prototypes", "-shared",
                "-fPIC", "-o", folder[library],
            ] + options + files.map { "\(sources)/\($0)" } + libraries,
            in: folder, name: "cc")
        guard try process.end(within: .seconds(120)) == .exit(0) else {
            throw NotBuilt(description: "Tests/\(name) can't be compiled: \(process.errors)")
        }
        return folder[library]
    }
}
