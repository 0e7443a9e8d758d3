import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// What each user has under way, and who waits until it is less.
extension SocketLoop {
    /// Whether the next call of a connection may begin; if not, it goes on when there is less under way.
    func mayBegin(_ connection: Connection) -> Bool {
        if connection.user.load.mayBegin(unanswered: connection.bytesInFlight, unread: connection.bytesUnread) {
            return true
        }
        wait(connection)
        return false
    }

    /// How many bytes of a connection may be read now; if none, it is told when, or has its turn in the next round.
    func mayRead(_ connection: Connection, isHungUp: Bool) -> Int {
        // What is left of a connection whose other end is gone lies in the kernel, and does not grow.
        if isHungUp { return Self.chunk }
        guard connection.user.load.hasTurn(inRound: round, lastRead: connection.lastRead) else { return 0 }
        let room = connection.user.load.mayRead(
            connection.id, most: Self.chunk, underWay: connection.bytesUnderWay,
            isInMessage: connection.frames.hasPartialFrame)
        if room == 0 {
            wait(connection)
            watch(connection)
        }
        return room
    }

    private func wait(_ connection: Connection) {
        connection.isWaiting = true
        connection.user.load.wait(connection.id)
    }

    /// Keeps no more memory for a connection than what it holds needs, and counts that.
    func settleReading(of connection: Connection) {
        let moved = connection.frames.giveBack(&readBuffer, keepingFrom: connection.held?.lowerBound)
        connection.held = connection.held.map { ($0.lowerBound - moved)..<($0.upperBound - moved) }
        let received = connection.frames.pendingCount + (connection.held?.count ?? 0)
        count(received: received, of: connection)
    }

    private func count(received: Int, of connection: Connection) {
        guard received != connection.bytesReceived else { return }
        if received < connection.bytesReceived { loosen(connection.user) }
        connection.user.load.changed(received: received - connection.bytesReceived)
        settleActivity(of: connection) { $0.bytesReceived = received }
    }

    private func settleActivity(of connection: Connection, _ change: (Connection) -> Void) {
        let wasActive = connection.bytesUnderWay > 0
        change(connection)
        let isActive = connection.bytesUnderWay > 0
        if isActive, !wasActive { connection.user.load.began() }
        if wasActive, !isActive { connection.user.load.ended() }
    }

    /// Counts what a reader has not taken yet.
    func settleSending(of connection: Connection) {
        let unread = connection.replies.unsentCount + connection.openJobs * service.limits.questionBytes
        guard unread != connection.bytesUnread, connections[connection.id] != nil else { return }
        if unread < connection.bytesUnread { loosen(connection.user) }
        connection.user.load.changed(replies: unread - connection.bytesUnread)
        connection.bytesUnread = unread
    }

    /// A report has begun, or is answered.
    func changed(inFlight difference: Int, of connection: Connection) {
        settleActivity(of: connection) { $0.bytesInFlight += difference }
        connection.user.load.changed(unanswered: difference)
        if difference < 0 { loosen(connection.user) }
    }

    /// A record of two bytes may be rejected with a hundred, which count with the call.
    static func weight(of call: ReportCall) -> Int { 100 * call.rejected.count }

    func weigh(_ call: ReportCall, _ connection: Connection) {
        let bytes = Self.weight(of: call)
        connection.replies.weigh(call.token, bytes)
        changed(inFlight: bytes, of: connection)
    }

    /// A user has less under way: his other connections may try again.
    func loosen(_ user: SocketUser) {
        guard !user.isLoosened else { return }
        user.isLoosened = true
        loosened.append(user)
    }

    func goOnWithLoosened() {
        guard !loosened.isEmpty else { return }
        let users = loosened
        loosened = []
        for user in users {
            user.isLoosened = false
            let woken = user.load.takeWoken(
                underWay: { connections[$0].map(Self.bytesWaitedFor) ?? 0 },
                unread: { connections[$0]?.bytesUnread ?? 0 })
            for id in woken {
                guard let connection = connections[id] else { continue }
                connection.isWaiting = false
                process(connection)
                attach(connection)
                fetchNews(of: connection)
            }
        }
    }

    /// What is to become less before a connection goes on: what it holds already is no reason to wait.
    private static func bytesWaitedFor(_ connection: Connection) -> Int {
        connection.held == nil ? connection.bytesUnderWay : connection.bytesInFlight
    }

    // MARK: Those that are gone

    /// Takes off what a closed connection had under way, but for its reports that are on their way to the disk.
    func depart(_ connection: Connection) {
        let user = connection.user
        count(received: 0, of: connection)
        if connection.bytesUnderWay > 0 { user.load.ended() }
        user.load.changed(replies: -connection.bytesUnread)
        connection.bytesUnread = 0
        user.load.disconnected(connection.id)
        loosen(user)
        if connection.session.openReports > 0 {
            orphans[connection.id] = Orphan(
                user: user, bytes: connection.bytesInFlight, reports: connection.session.openReports)
        }
        forget(user)
    }

    /// A report was stored or refused whose connection is gone.
    func orphanAnswered(_ connection: UInt64) {
        guard var orphan = orphans[connection] else { return }
        orphan.reports -= 1
        orphans[connection] = orphan.reports > 0 ? orphan : nil
        guard orphan.reports == 0 else { return }
        orphan.user.load.changed(unanswered: -orphan.bytes)
        loosen(orphan.user)
        forget(orphan.user)
    }

    private func forget(_ user: SocketUser) {
        if user.load.connections == 0, user.load.unanswered == 0 { users[user.uid] = nil }
    }

    // MARK: Those that hang up while they wait

    /// The kernel would tell without end that nobody is there, of a connection that may not be read yet.
    func detach(_ connection: Connection) {
        guard !connection.isDetached else { return }
        connection.isDetached = true
        try? poller.remove(connection.descriptor)
    }

    private func attach(_ connection: Connection) {
        guard connection.isDetached, !connection.isWaiting, connections[connection.id] != nil else { return }
        connection.isDetached = false
        connection.watchesReading = true
        connection.watchesWriting = false
        do throws(Errno) {
            try poller.add(connection.descriptor, token: connection.id, for: [.read])
            watch(connection)
        } catch {
            close(connection)
        }
    }
}
