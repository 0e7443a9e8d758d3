internal import UnixIO

/// A folder with what a process could not send before it ended, for the next run of the application.
///
/// One file for each call of `Report`, as it was to be sent, with its producer
/// and numbers. So what did arrive, and was not answered, is known to the
/// daemon when it comes again, and a run that is over soon gets some of them out.
package struct SpillFolder: Sendable {
    package let path: String
    /// How much all files together may take.
    private let limit: Int

    private static let suffix = ".call"

    package init(path: String, limit: Int = 16 << 20) {
        self.path = path
        self.limit = limit
    }

    /// That of an application; nil where there is no place that is the user's own.
    package static func usual(
        application: String, variable: (String) -> String? = { UnixIO.Environment[$0] }
    ) -> SpillFolder? {
        func folder(_ name: String) -> String? {
            // systemd names several, with colons between them; a relative path is nobody's.
            let first = variable(name)?.split(separator: ":").first.map(String.init)
            return first?.hasPrefix("/") == true ? first : nil
        }
        let name = fileName(application)
        if let state = folder("STATE_DIRECTORY") { return SpillFolder(path: "\(state)/issues-unsent/\(name)") }
        guard let state = folder("XDG_STATE_HOME") ?? folder("HOME").map({ "\($0)/.local/state" }) else { return nil }
        return SpillFolder(path: "\(state)/issued/unsent/\(name)")
    }

    /// Keeps a call; false where it can't be, and then the next run is told how many issues are missing.
    package func keep(_ call: [UInt8], of producer: String, from sequence: Int64, issues: Int) -> Bool {
        guard (try? FileSystem.makeFolders(path, mode: 0o700)) != nil, isOwn else { return false }
        let size = files.reduce(call.count) { $0 + $1.size }
        let number = String(sequence)
        let padded = String(repeating: "0", count: max(0, 19 - number.utf8.count)) + number
        let file = "\(path)/\(producer)-\(padded)\(Self.suffix)"
        guard size <= limit, (try? FileSystem.writeAtomically(call, to: file)) != nil else {
            noteLost(issues)
            return false
        }
        return true
    }

    // MARK: Picking up

    /// The files that are there, those of each producer in the order of their numbers.
    var files: [(path: String, size: Int)] {
        guard isOwn, let names = try? FileSystem.names(in: path) else { return [] }
        return names.filter { $0.hasSuffix(Self.suffix) }.sorted().compactMap { name in
            let file = "\(path)/\(name)"
            guard let status = try? FileSystem.status(of: file, followingLinks: false), status.kind == .regular else {
                return nil
            }
            return (file, Int(status.size))
        }
    }

    /// The right to pick up, which one process has at a time; nil while another has it.
    func lock() -> FileLock? {
        guard isOwn else { return nil }
        return try? FileLock("\(path)/lock")
    }

    /// How many issues could not be kept; asked, it is forgotten.
    func takeLost() -> Int {
        let taken = "\(lostFile).taken"
        guard (try? FileSystem.rename(lostFile, to: taken)) != nil,
            let text = try? FileSystem.read(taken, limit: Self.lostLimit * 2)
        else { return 0 }
        try? FileSystem.remove(taken)
        return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { Int($0) }
            .reduce(0) { $0.addingReportingOverflow($1).partialValue }
    }

    // MARK: Within

    private static let lostLimit = 64 << 10
    private var lostFile: String { "\(path)/lost" }

    /// Others must not be able to put words into our mouth, nor to read them.
    private var isOwn: Bool {
        guard let status = try? FileSystem.status(of: path, followingLinks: false) else { return false }
        return status.kind == .directory && status.uid == CurrentProcess.userID && status.mode & 0o077 == 0
    }

    private func noteLost(_ issues: Int) {
        // A line each, so that processes which end together need no lock.
        guard let file = try? FileDescriptor.open(lostFile, [.writeOnly, .create, .append, .noFollow], mode: 0o600),
            let size = try? file.status().size, size < Self.lostLimit
        else { return }
        try? file.writeAll(Array("\(issues)\n".utf8))
    }

    private static func fileName(_ application: String) -> String {
        let name = application.utf8.map { byte -> String in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                String(UnicodeScalar(byte))
            case _: "%\(String(byte, radix: 16))"
            }
        }
        return name.isEmpty ? "%" : String(name.joined().prefix(200))
    }
}
