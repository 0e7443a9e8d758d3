import IssueBrowsing
package import IssueProtocol
package import Issues
import UnixIO

/// The facts about the host and the daemon from which the checks of `issuectl doctor` decide.
package struct DoctorFacts: Sendable {
    /// The status, or the reason for which there is none.
    package var status: Result<DaemonStatus, CollectorConnectionError>
    /// The first existing socket among the possible paths; nil if there is none.
    package var socket: SocketFile?
    package var now: IssueTimestamp
    package var userID: UInt32
    package var clientVersion = ProductVersion.text
    /// Whether the clock is synchronized; nil if that is unknown.
    package var isClockSynchronized: Bool?
    /// The installed unit files of the daemon and its socket.
    package var service = UnitFile()
    package var socketUnit = UnitFile()

    /// The daemon's status; nil if it is not reachable.
    var daemon: DaemonStatus? { try? status.get() }
}

/// The permissions of a socket and its folder.
package struct SocketFile: Equatable, Sendable {
    package var path: String
    /// The user who owns the socket.
    package var owner: UInt32
    package var mode: UInt32
    package var folderMode: UInt32
    /// The user who owns the folder.
    package var folderOwner: UInt32 = 0
}

/// The settings of an installed unit of systemd and its drop-ins, as far as the checks need them.
package struct UnitFile: Equatable, Sendable {
    /// The path of the unit; nil if it is not installed.
    package private(set) var path: String?
    /// The last value of each key.
    private var values: [String: String] = [:]

    package init() {}

    /// Reads a unit and its drop-ins.
    ///
    /// - Parameters:
    ///   - name: The name of the unit.
    ///   - folders: The folders of units, in decreasing order of precedence.
    package init(_ name: String, folders: [String] = UnitFile.folders) {
        path = folders.map { "\($0)/\(name)" }.first { (try? FileSystem.status(of: $0)) != nil }
        guard let path else { return }
        var dropIns: [String: String] = [:]
        for folder in folders.reversed() {
            let folder = "\(folder)/\(name).d"
            for file in (try? FileSystem.names(in: folder)) ?? [] where file.hasSuffix(".conf") {
                dropIns[file] = "\(folder)/\(file)"
            }
        }
        for file in [path] + dropIns.sorted(by: { $0.key < $1.key }).map(\.value) {
            guard let content = try? FileSystem.read(file, limit: 1 << 20) else { continue }
            add(String(decoding: content, as: UTF8.self))
        }
    }

    package static let folders = [
        "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
        "/lib/systemd/system",
    ]

    /// Adds the settings of a text in the syntax of systemd.syntax(7). Those of `[Unit]` and `[Install]` are ignored.
    /// An empty value resets the key.
    package mutating func add(_ text: String) {
        path = path ?? ""
        var isIgnored = false
        for line in text.split(separator: "\n") where !line.hasPrefix("#") && !line.hasPrefix(";") {
            if line.hasPrefix("[") { isIgnored = line.hasPrefix("[Unit]") || line.hasPrefix("[Install]") }
            guard !isIgnored, let equals = line.firstIndex(of: "=") else { continue }
            let key = String(line[..<equals].filter { $0 != " " })
            let value = String(line[line.index(after: equals)...].drop { $0 == " " }.prefix { $0 != "\r" })
            values[key] = value.isEmpty ? nil : value
        }
    }

    var isInstalled: Bool { path != nil }

    subscript(key: String) -> String? { values[key] }
}

extension DoctorFacts {
    /// Collects the facts.
    ///
    /// - Parameters:
    ///   - status: Asks the daemon.
    ///   - sockets: The paths of the sockets, in order.
    static func collect(
        sockets: [String], now: IssueTimestamp,
        status: () throws(CollectorConnectionError) -> DaemonStatus
    ) -> DoctorFacts {
        let result: Result<DaemonStatus, CollectorConnectionError>
        do throws(CollectorConnectionError) {
            result = .success(try status())
        } catch {
            result = .failure(error)
        }
        var facts = DoctorFacts(
            status: result, socket: nil, now: now, userID: CurrentProcess.userID,
            isClockSynchronized: isClockSynchronized)
        for path in sockets {
            guard let file = try? FileSystem.status(of: path),
                let folder = try? FileSystem.status(of: FileSystem.parentFolder(of: path))
            else { continue }
            facts.socket = SocketFile(
                path: path, owner: file.uid, mode: file.mode, folderMode: folder.mode, folderOwner: folder.uid)
            break
        }
        facts.service = UnitFile("issued.service")
        facts.socketUnit = UnitFile("issued.socket")
        return facts
    }

    /// Whether systemd-timesyncd has synchronized the clock; nil if it does not run.
    private static var isClockSynchronized: Bool? {
        guard (try? FileSystem.status(of: "/run/systemd/timesync")) != nil else { return nil }
        return (try? FileSystem.status(of: "/run/systemd/timesync/synchronized")) != nil
    }
}
