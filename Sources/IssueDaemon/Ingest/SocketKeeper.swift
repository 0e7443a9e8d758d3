import UnixIO

/// Sees to it that the daemon can be found where its socket belongs, also when somebody has removed the file.
///
/// Whoever is connected notices nothing of that; nobody else can connect until
/// there is a file again. One that the service manager has opened is its to
/// make, so of that it is only said.
final class SocketKeeper {
    private(set) var listener: Listener
    /// Whether the file is gone, and making it anew must be tried again.
    private(set) var isMissing = false
    private var hasToldUnit = false
    let path: String
    /// Makes the socket with its folder, or nothing where it came from the service manager.
    private let make: (() throws(Errno) -> FileDescriptor)?
    private var watch: FolderWatch?
    private var place: FileStatus?
    private let log: Log

    /// Keeps a socket that was inherited.
    init(_ listener: Listener, path: String, log: Log) {
        self.listener = listener
        self.path = path
        self.log = log
        make = nil
        remember()
    }

    /// Makes a socket and keeps it.
    init(path: String, log: Log, make: @escaping () throws(Errno) -> FileDescriptor) throws(Errno) {
        listener = Listener(try make())
        self.path = path
        self.log = log
        self.make = make
        remember()
    }

    /// `true` if the service manager made the socket, and keeps it when the daemon ends.
    var isInherited: Bool { make == nil }

    /// Has a poller tell when it is time to look.
    func watch(with poller: borrowing Poller, token: UInt64) {
        if let watch { try? poller.add(watch.descriptor, token: token, for: [.read]) }
    }

    /// Looks whether the file is still there; answers the new listener where it had to be made anew.
    func look() -> Listener? {
        watch?.clear()
        let found = try? FileSystem.status(of: path, followingLinks: false)
        guard let place, found?.inode != place.inode || found?.device != place.device else { return nil }
        guard let make else {
            if !hasToldUnit { log.warning("The socket's file was removed, its unit must be restarted", ["path": path]) }
            hasToldUnit = true
            return nil
        }
        do throws(Errno) {
            listener = Listener(try make())
            remember()
            isMissing = false
            log.warning("The socket's file was removed, it has been made anew", ["path": path])
            return listener
        } catch {
            if !isMissing {
                log.error(
                    "The socket's file was removed and can't be made anew, trying again until it can",
                    ["path": path, "error": "\(error)"])
            }
            isMissing = true
            return nil
        }
    }

    private func remember() {
        place = try? FileSystem.status(of: path, followingLinks: false)
        watch = try? FolderWatch(FileSystem.parentFolder(of: path))
    }
}
