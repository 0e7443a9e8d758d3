package import UnixIO

/// Decides whether the server of a socket may be given reports.
///
/// A report holds what an application knows, and a reply decides what a
/// command does next. So the server has to be root, this process's own user or
/// the user `issued`; with socket activation it is root, since the service
/// manager called listen(2). Sockets that were searched for must also be
/// where no other user can replace them.
package struct ServerTrust: Sendable {
    /// Whether the socket was named, by `ISSUED_SOCKET` or `--socket`, and not searched for.
    package var isNamed: Bool
    /// One more user who may serve it: `ISSUED_SOCKET_USER`.
    package var namedUser: UInt32?
    package var userID: UInt32
    /// The user as whom the daemon runs, asked only where it matters.
    package var daemonUser: @Sendable () -> UInt32?
    /// Returns the user id that represents users outside this process's user namespace; nil in the host's namespace.
    package var outsider: @Sendable () -> UInt32?

    package init(
        isNamed: Bool, namedUser: UInt32? = nil, userID: UInt32 = CurrentProcess.userID,
        daemonUser: @escaping @Sendable () -> UInt32? = { UserDatabase.userID(named: "issued") },
        outsider: @escaping @Sendable () -> UInt32? = { IdentityMap.current?.outsider }
    ) {
        self.isNamed = isNamed
        self.namedUser = namedUser
        self.userID = userID
        self.daemonUser = daemonUser
        self.outsider = outsider
    }

    /// For sockets that the environment, or the usual places, tell of.
    package static var process: ServerTrust {
        ServerTrust(
            isNamed: UnixIO.Environment["ISSUED_SOCKET"].map { !$0.isEmpty } ?? false,
            namedUser: UnixIO.Environment["ISSUED_SOCKET_USER"].flatMap { user(named: $0) })
    }

    /// For a socket that a caller has named; nil searches as usual.
    package static func socket(_ path: String?) -> ServerTrust {
        var trust = process
        if path != nil { trust.isNamed = true }
        return trust
    }

    /// The number of a user who is named or numbered.
    package static func user(named text: String) -> UInt32? {
        text.isEmpty ? nil : UInt32(text) ?? UserDatabase.userID(named: text)
    }

    // MARK: Judging

    /// Returns why a socket must not be connected to, or nil if it may be.
    package func objection(toPlace path: String, _ socket: FileStatus, in folder: FileStatus) -> String? {
        guard socket.kind == .socket else { return "it is no socket" }
        guard !isNamed else { return nil }
        guard isTrusted(socket.uid, at: path) else { return "it belongs to user \(socket.uid)" }
        guard folder.kind == .directory, isTrusted(folder.uid, at: path) else {
            return "its folder belongs to user \(folder.uid)"
        }
        let isWritable = TrustedOwners(userID: userID).isWritableByOthers(folder)
        return isWritable ? "other users can write to its folder" : nil
    }

    /// Returns why a connected server is not trusted, or nil if it is.
    ///
    /// - Parameter owner: Who owns the socket; nil for one that is no file.
    package func objection(toPeer peer: UInt32, at path: String, owner: UInt32?) -> String? {
        if isTrusted(peer, at: path) { return nil }
        // Naming a socket means trusting its owner. Root must name the user explicitly, since the socket's name may
        // come from another user's environment.
        if isNamed, userID != 0, peer == owner { return nil }
        return "it is served by user \(peer)"
    }

    private func isTrusted(_ user: UInt32, at path: String) -> Bool {
        if user == 0 || user == userID || user == namedUser { return true }
        // In a container the host's users have no numbers of their own. Only the container's root can have put a
        // socket where the host's is.
        if path == SocketPath.system, user == outsider() { return true }
        return user == daemonUser()
    }
}

extension ServerTrust {
    /// Connects to a socket, or throws before anything is sent where its server is not trusted.
    package func connect(to path: String, timeout: Duration) throws(CollectorConnectionError) -> FileDescriptor {
        let address: SocketAddress
        do throws(InvalidSocketAddress) {
            address = try .unix(path)
        } catch {
            throw .unusablePath(error)
        }
        let owner = try address.path.map { file throws(CollectorConnectionError) in try ownerOfPlace(file) }
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

    private func ownerOfPlace(_ path: String) throws(CollectorConnectionError) -> UInt32 {
        let socket: FileStatus
        let folder: FileStatus
        do throws(Errno) {
            // A link could lead past the folder that is looked at.
            socket = try FileSystem.status(of: path, followingLinks: isNamed)
            folder = try FileSystem.status(of: FileSystem.parentFolder(of: path))
        } catch {
            throw .unreachable(path: path, error)
        }
        if let objection = objection(toPlace: path, socket, in: folder) {
            throw .untrusted(path: path, reason: objection)
        }
        return socket.uid
    }
}
