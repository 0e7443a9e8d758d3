import Foundation
package import IssueTestSupport

/// The library in `Tests/Faults`, built for this machine.
package enum FaultLibrary {
    /// It could not be built.
    struct NotBuilt: Error, CustomStringConvertible {
        let description: String
    }

    /// Builds it into a folder, and answers its path.
    package static func build(in folder: ScratchFolder) throws -> String {
        let sources = "\(TestBinaries.repository)Tests/Faults"
        let files = try FileManager.default.contentsOfDirectory(atPath: sources).filter { $0.hasSuffix(".c") }.sorted()
        let library = folder["libfaults.so"]
        guard let compiler = TestBinaries.tool("/usr/bin/cc", "/usr/local/bin/cc") else {
            throw NotBuilt(description: "There is no cc.")
        }
        let process = try ChildProcess(
            compiler,
            [
                "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wstrict-prototypes", "-shared",
                "-fPIC", "-D_LARGEFILE64_SOURCE", "-o", library,
            ] + files.map { "\(sources)/\($0)" } + ["-ldl"],
            in: folder, name: "cc")
        guard try process.end(within: .seconds(120)) == .exit(0) else {
            throw NotBuilt(description: "Tests/Faults can't be compiled: \(process.errors)")
        }
        return library
    }
}
