import IssueTestSupport

/// A running server in Python. It is killed when this object is released.
final class PythonServer {
    let folder: ScratchFolder
    private let process: ChildProcess

    /// Starts a script and waits until it listens.
    ///
    /// - Parameters:
    ///   - script: The script's name without the extension. The script gets the path of `folder` as its first argument,
    ///     and writes its port to the file `port` there.
    ///   - arguments: Further arguments.
    ///   - files: Names and contents of files that the script finds in `folder`.
    ///   - python: The path of the interpreter; nil for `TestBinaries.python3`.
    init(
        _ script: String, _ arguments: String..., files: [String: String] = [:], python: String? = nil
    ) async throws {
        let folder = try ScratchFolder(named: "server")
        self.folder = folder
        for (name, text) in files { try folder.write(text, to: name) }
        process = try ChildProcess(script: script, [folder.path] + arguments, in: folder, python: python)
        let process = process
        try await eventually("\(script) listens") {
            guard process.isRunning else { throw Ended(errors: process.errors) }
            return !folder.text(of: "port").isEmpty
        }
    }

    private struct Ended: Error {
        let errors: String
    }

    var port: String { folder.text(of: "port") }
    var isRunning: Bool { process.isRunning }
}

extension ChildProcess {
    /// Starts a Python script of this folder, given by its name without the extension.
    convenience init(
        script: String, _ arguments: [String], in folder: ScratchFolder,
        environment: [String: String] = ["PATH": "/usr/bin:/bin"], python: String? = nil
    ) throws {
        let file = "\(TestBinaries.repository)Tests/EndToEndTests/\(script).py"
        try self.init(
            [try python ?? TestBinaries.python3, file] + arguments, in: folder, name: script, environment: environment)
    }
}
