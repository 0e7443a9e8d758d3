package import UnixIO

/// The paths of the daemon's socket, by rules that the daemon, `issuectl` and the client share.
package enum SocketPath {
    /// The socket of the system daemon.
    package static let system = "/run/issued/issued.sock"

    /// Returns the path of the socket of a daemon that an unprivileged user runs.
    ///
    /// The socket is in the first of these directories that can be used:
    /// 1. `runtimeDirectory`, unless it is nil, relative or another user's;
    /// 2. the user's default runtime directory, if it exists, is the user's, and no other user can write to it;
    /// 3. the user's temporary directory, on the same conditions.
    ///
    /// If none can be used, returns the path in the default runtime directory.
    ///
    /// - Parameters:
    ///   - runtimeDirectory: The value of `XDG_RUNTIME_DIR`. Nil if it is not set.
    ///   - userID: The id of the user.
    ///   - runtimeFolder: The parent of the users' default runtime directories.
    ///   - temporaryPrefix: The beginning of the paths of the users' temporary directories, before `-` and the user id.
    package static func user(
        runtimeDirectory: String? = ProcessEnvironment["XDG_RUNTIME_DIR"], userID: UInt32 = CurrentProcess.userID,
        runtimeFolder: String = "/run/user", temporaryPrefix: String = "/tmp/issued"
    ) -> String {
        let folder = FileSystem.runtimeFolder(of: userID, variable: runtimeDirectory, parent: runtimeFolder)
        if let folder { return "\(folder)/issued/issued.sock" }
        let temporary = "\(temporaryPrefix)-\(userID)"
        if FileSystem.isPrivateFolder(temporary, of: userID) { return "\(temporary)/issued.sock" }
        return "\(runtimeFolder)/\(userID)/issued/issued.sock"
    }

    /// Returns the paths to try: the named socket only or, if it is nil, those of ``search()``.
    package static func candidates(_ named: String?) -> [String] {
        named.map { [$0] } ?? search()
    }

    /// Returns the paths to try, in order. Empty if `ISSUED_SOCKET` is set to an empty string.
    package static func search() -> [String] {
        search(override: ProcessEnvironment["ISSUED_SOCKET"], userSocket: user())
    }

    /// Returns the paths to try, in order.
    ///
    /// - Parameters:
    ///   - override: The value of `ISSUED_SOCKET`. Nil if it is not set; if it is empty, there are no paths.
    ///   - userSocket: The socket of the user's own daemon.
    package static func search(override: String?, userSocket: String) -> [String] {
        guard let override else { return [userSocket, system] }
        return override.isEmpty ? [] : [override]
    }
}

/// Decides whether the server of a socket may receive reports.
///
/// Reports contain data of the application, and replies decide what a command does next. The server must therefore run
/// as root, as this process's user, as the user `issued` or as ``namedUser``. With socket activation, the kernel names
/// the user of the service manager instead, because that process called listen(2). If the socket was found by
/// searching, other users must also be unable to replace it. A named socket may also be served by the owner of its
/// file, unless this process runs as root. In a container, ``overflowUserID`` may serve the system's socket.
package struct ServerTrust: Sendable {
    /// Whether the socket was named by the caller, `ISSUED_SOCKET` or `--socket`, rather than found by searching.
    package var isNamed: Bool
    /// The id of another user who may run the server, usually from `ISSUED_SOCKET_USER`. Nil for none.
    package var namedUser: UInt32?
    /// The user id of this process.
    package var userID: UInt32
    /// Returns the id of the user `issued`; nil if this user does not exist. Called only when needed.
    package var daemonUser: @Sendable () -> UInt32?
    /// Returns the user id that represents users outside this process's user namespace; nil if the namespace contains
    /// all users or has no map, or if the id is unknown.
    package var overflowUserID: @Sendable () -> UInt32?

    /// Creates the rules for a socket. The parameters are the properties.
    package init(
        isNamed: Bool, namedUser: UInt32? = nil, userID: UInt32 = CurrentProcess.userID,
        daemonUser: @escaping @Sendable () -> UInt32? = { UserDatabase.userID(named: "issued") },
        overflowUserID: @escaping @Sendable () -> UInt32? = { IdentityMap.current?.overflowUserID }
    ) {
        self.isNamed = isNamed
        self.namedUser = namedUser
        self.userID = userID
        self.daemonUser = daemonUser
        self.overflowUserID = overflowUserID
    }

    /// The rules for sockets from the environment or the standard paths.
    package static var process: ServerTrust {
        ServerTrust(
            isNamed: ProcessEnvironment["ISSUED_SOCKET"].map { !$0.isEmpty } ?? false,
            namedUser: ProcessEnvironment["ISSUED_SOCKET_USER"].flatMap { user(named: $0) })
    }

    /// Returns the rules for a socket that the caller named, or those of the process if the path is nil.
    package static func socket(_ path: String?) -> ServerTrust {
        var trust = process
        if path != nil { trust.isNamed = true }
        return trust
    }

    /// Returns the user id for a user name or number. A number need not belong to a user. Returns nil if the text is
    /// empty, no user has the name, or the number is too large.
    package static func user(named text: String) -> UInt32? {
        let isNumber = text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isNumber ? UInt32(text) : UserDatabase.userID(named: text)
    }

    // MARK: Checks

    /// The reason not to connect to a path that is not a socket.
    package static let notASocket = "it is not a socket"
    package static let writableFolder = "other users can write to its folder"

    /// Returns `true` if the given reason not to connect is that a certain user is not trusted.
    package static func isAboutUser(_ reason: String) -> Bool { reason != notASocket && reason != writableFolder }

    /// Returns the reason not to connect to a socket, or nil if there is none.
    ///
    /// - Parameters:
    ///   - path: The path of the socket.
    ///   - socket: The status of the socket file.
    ///   - folder: The status of the folder that contains it.
    package func objection(at path: String, _ socket: FileStatus, in folder: FileStatus) -> String? {
        guard socket.kind == .socket else { return Self.notASocket }
        guard !isNamed else { return nil }
        guard isTrusted(socket.uid, at: path) else { return "it belongs to user \(socket.uid)" }
        guard folder.kind == .directory, isTrusted(folder.uid, at: path) else {
            return "its folder belongs to user \(folder.uid)"
        }
        let isWritable = TrustedOwners(userID: userID).isWritableByOthers(folder)
        return isWritable ? Self.writableFolder : nil
    }

    /// Returns the reason not to trust a connected server, or nil if there is none.
    ///
    /// - Parameters:
    ///   - peer: The user id of the server, from the kernel.
    ///   - path: The path or address of the socket.
    ///   - owner: The user id that owns the socket file. Nil for an abstract socket.
    package func objection(toPeer peer: UInt32, at path: String, owner: UInt32?) -> String? {
        if isTrusted(peer, at: path) { return nil }
        // Naming a socket means trusting its owner. Root must name the user explicitly, because the socket's name may
        // come from another user's environment.
        if isNamed, userID != 0, peer == owner { return nil }
        return "it is served by user \(peer)"
    }

    private func isTrusted(_ user: UInt32, at path: String) -> Bool {
        if user == 0 || user == userID || user == namedUser { return true }
        // In a container, the users of the host have no ids of their own. Only the container's root can place a socket
        // at the path of the system's socket.
        if path == SocketPath.system, user == overflowUserID() { return true }
        return user == daemonUser()
    }
}

extension ServerTrust {
    /// Connects to a socket.
    ///
    /// - Parameters:
    ///   - path: The path or address of the socket.
    ///   - timeout: The timeout for connecting.
    /// - Returns: The connected socket. Nothing has been sent yet.
    /// - Throws: `unusablePath` if the path is invalid, `unreachable` if the connection fails, and `untrusted` if the
    ///   socket, its folder or its server is not trusted.
    package func connect(to path: String, timeout: Duration) throws(CollectorConnectionError) -> FileDescriptor {
        let address: SocketAddress
        do throws(InvalidSocketAddress) {
            address = try .unix(path)
        } catch {
            throw .unusablePath(error)
        }
        let owner = try address.path.map { file throws(CollectorConnectionError) in try socketOwner(at: file) }
        let reason: String
        do throws(Errno) {
            let connection = try Socket.connect(to: address, timeout: timeout)
            let peer = try connection.peerCredentials().uid
            guard let objection = objection(toPeer: peer, at: path, owner: owner) else { return connection }
            reason = objection
        } catch {
            throw .unreachable(path: path, error)
        }
        throw .untrusted(path: path, reason: reason)
    }

    /// Connects to the first path with a trusted server, and passes the connected socket to a closure.
    ///
    /// - Parameters:
    ///   - paths: The paths to try, in order. Empty if delivery is disabled.
    ///   - timeout: The timeout for all paths together. Zero makes a single attempt per path, which fails with
    ///     `wouldBlock` if the server's listen queue is full.
    ///   - body: Receives the path and the connected socket. If it throws, the next path is tried.
    /// - Returns: The value that `body` returns.
    /// - Throws: The most helpful error of the failed attempts; `disabled` if there are no paths.
    func connect<Value: ~Copyable>(
        toFirstOf paths: [String], timeout: Duration,
        _ body: (String, consuming FileDescriptor) throws(CollectorConnectionError) -> Value
    ) throws(CollectorConnectionError) -> Value {
        var failure = CollectorConnectionError.disabled
        let deadline = MonotonicClock.now.advanced(by: timeout)
        for path in paths {
            do throws(CollectorConnectionError) {
                return try body(path, try connect(to: path, timeout: deadline.timeLeft))
            } catch {
                failure = Self.moreHelpful(failure, error)
            }
        }
        throw failure
    }

    /// Returns the more helpful one of two errors: the second, unless only the second says that the file is missing.
    /// If the first is `disabled`, which stands for no earlier attempt, returns the second.
    private static func moreHelpful(
        _ first: CollectorConnectionError, _ second: CollectorConnectionError
    ) -> CollectorConnectionError {
        guard case .unreachable(_, .noSuchFile) = second, first != .disabled else { return second }
        if case .unreachable(_, .noSuchFile) = first { return second }
        return first
    }

    private func socketOwner(at path: String) throws(CollectorConnectionError) -> UInt32 {
        let socket: FileStatus
        let folder: FileStatus
        do throws(Errno) {
            // Links are followed only for a named socket. Otherwise they could lead out of the checked folder.
            socket = try FileSystem.status(of: path, followingLinks: isNamed)
            folder = try FileSystem.status(of: FileSystem.parentFolder(of: path))
        } catch {
            throw .unreachable(path: path, error)
        }
        if let objection = objection(at: path, socket, in: folder) {
            throw .untrusted(path: path, reason: objection)
        }
        return socket.uid
    }
}
