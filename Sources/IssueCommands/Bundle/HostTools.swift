import IssueProtocol
import UnixIO

/// Functions that run programs and access files of the host, for commands that collect facts. Tests replace them.
package struct HostTools {
    /// The output of a program, or the reason why it could not be run.
    package enum Output: Equatable, Sendable {
        case printed(String)
        /// The reason, and the output that the program printed before it failed.
        case failed(String, printed: String = "")
    }

    /// The reason why a file can't be read or written.
    package struct Failure: Error, Equatable, Sendable {
        package var reason: String
        /// `true` if the file exists and must not be replaced.
        package var isExisting = false
    }

    /// Runs a program by its name, such as `journalctl`. Only the end of a long output is kept.
    package var run: (_ program: String, _ arguments: [String]) -> Output
    /// Reads a small text file; nil if it can't be read.
    package var read: (_ path: String) -> String?
    /// Returns the names, sizes and permissions of the files in a folder.
    package var list: (_ folder: String) throws(Failure) -> [String]
    /// Writes a file that only its owner may read. Replaces an existing one only if `replacing` is `true`.
    package var save: (_ content: [UInt8], _ path: String, _ replacing: Bool) throws(Failure) -> Void
    /// Returns the name of a user; nil if the user has none.
    package var userName: (_ userID: UInt32) -> String? = { _ in nil }
}

extension HostTools {
    /// The maximum size of the output of a program and of a file, in bytes.
    private static let maxOutput = 2 << 20
    private static let maxFile = 256 << 10
    private static let timeout: Duration = .seconds(20)
    private static let maxFiles = 200

    /// The variables that programs get.
    private static let variables = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "ISSUED_SOCKET"]
    private static let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/sbin", "/bin"]

    /// The tools of this host.
    package static var process: HostTools {
        HostTools(
            run: run,
            read: { path in
                (try? FileSystem.read(path, limit: maxFile)).map { String(decoding: $0, as: UTF8.self) }
            },
            list: { (folder) throws(Failure) in
                do throws(Errno) { return try list(folder) } catch { throw Failure(reason: "\(error)") }
            },
            save: { (content, path, isReplacing) throws(Failure) in
                do throws(Errno) {
                    guard !isReplacing else { return try FileSystem.writeAtomically(content, to: path, mode: 0o600) }
                    try create(path, content)
                } catch {
                    throw Failure(reason: "\(error)", isExisting: error == .alreadyExists)
                }
            },
            userName: { userID in
                // A name that consists of digits is not an id.
                UserDatabase.user(named: "\(userID)").flatMap { $0.userID == userID ? $0.name : nil }
            })
    }

    private static func run(_ name: String, _ arguments: [String]) -> Output {
        let own = CurrentProcess.executable.map { FileSystem.parentFolder(of: $0) }
        let environment =
            ["PATH=\(folders.joined(separator: ":"))", "LC_ALL=C.UTF-8"]
            + variables.compactMap { name in ProcessEnvironment[name].map { "\(name)=\($0)" } }
        for folder in [own].compactMap({ $0 }) + folders {
            do throws(Errno) {
                let run = try CommandRun(
                    ["\(folder)/\(name)"] + arguments, environment: environment, keeping: maxOutput, limit: nil,
                    timeout: timeout)
                return output(of: run, name)
            } catch .noSuchFile {
                continue
            } catch {
                return .failed("cannot run \(folder)/\(name): \(error)")
            }
        }
        return .failed("the program \(name) is not installed")
    }

    /// Returns the text that a program printed, or how it failed.
    static func output(of run: CommandRun, _ name: String) -> Output {
        var text = String(decoding: run.output, as: UTF8.self)
        // The first line is not complete.
        if run.isCut { text = "…\n" + text.drop { $0 != "\n" }.dropFirst() }
        let problem: String
        switch run.end {
        case .exit(0): return .printed(text)
        case .exit(let code): problem = "exited with \(code)"
        case .signal(let signal): problem = "was killed by signal \(signal)"
        case .timeout: return .failed("\(name) took longer than \(timeout.components.seconds) s")
        case .tooMuchOutput, .cancelled: problem = "was killed"
        }
        let reason = text.split(separator: "\n").prefix(20).joined(separator: "\n")
        return .failed("\(name) \(problem)\(reason.isEmpty ? "" : ":\n\(reason)")", printed: text)
    }

    private static func list(_ folder: String) throws(Errno) -> [String] {
        let names = try FileSystem.names(in: folder).sorted()
        let lines = names.prefix(maxFiles).map { name in
            guard let status = try? FileSystem.status(of: "\(folder)/\(name)", followingLinks: false) else {
                return "? \(TerminalSanitizer.line(name))"
            }
            return "\(status.kind) mode=\(String(status.mode & 0o7777, radix: 8)) uid=\(status.uid) "
                + "bytes=\(status.size) \(TerminalSanitizer.line(name))"
        }
        return lines + (names.count > maxFiles ? ["and \(names.count - maxFiles) more"] : [])
    }

    private static func create(_ path: String, _ content: [UInt8]) throws(Errno) {
        let folder = try TargetFolder(FileSystem.parentFolder(of: path))
        let name = FileSystem.name(of: path)
        let file = try folder.create(name)
        do throws(Errno) {
            try file.writeAll(content)
            try file.synchronize()
        } catch {
            try? folder.remove(name)
            throw error
        }
    }
}
