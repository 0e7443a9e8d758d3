import Foundation
package import IssueTestSupport

/// Builds the libraries in `Tests/Faults` and `Tests/FaultVFS` for this machine. Throws `NotBuilt` if the C compiler is
/// missing or fails.
package enum FaultLibrary {
    /// The library could not be built.
    struct NotBuilt: Error, CustomStringConvertible {
        let description: String
    }

    /// Builds the fault library into a folder and returns its path.
    package static func build(in folder: ScratchFolder) throws -> String {
        try build("Faults", to: "libfaults.so", ["-Wshadow", "-D_LARGEFILE64_SOURCE"], ["-ldl"], in: folder)
    }

    /// Builds the library that turns a folder into a disk that loses unsynced data. See `Tests/FaultVFS/preload.c`.
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
            throw NotBuilt(description: "cc is not installed.")
        }
        let process = try ChildProcess(
            compiler,
            [
                "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wstrict-prototypes", "-shared",
                "-fPIC", "-o", folder[library],
            ] + options + files.map { "\(sources)/\($0)" } + libraries,
            in: folder, name: "cc")
        guard try process.end() == .exit(0) else {
            throw NotBuilt(description: "Tests/\(name) failed to compile: \(process.errors)")
        }
        return folder[library]
    }
}
