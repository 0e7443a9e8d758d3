import IssueProtocol

/// Model values with all members, and with only the required ones.
enum Samples {
    static let moment = IssueTimestamp(millisecondsSince1970: 1_795_255_200_123)

    static let storedRecord = StoredRecord(
        id: "r-1", group: "g-1", receivedAt: moment,
        sender: Sender(
            uid: .max, gid: 1000, pid: .max, command: "shop", executable: "/usr/bin/shop", unit: "shop.service"),
        repairs: ["the message was cut"], record: .returned)

    static let minimalStoredRecord = StoredRecord(
        id: "", group: "", receivedAt: IssueTimestamp(millisecondsSince1970: 0), sender: Sender(uid: 0, gid: 0, pid: 0),
        repairs: [],
        record: IssueRecord(message: ""))

    static let group: IssueGroup = {
        var group = IssueGroup(
            id: "g-1", title: "Decoding failed", level: .error, state: .muted, mutedUntil: moment, hasRegressed: true,
            app: "shop", user: 1000, fingerprint: "f", domain: "d", code: 1, source: SourceLocation(line: 1),
            records: 2, occurrences: 3, firstSeen: moment, lastSeen: moment, firstVersion: "1", lastVersion: "2",
            newestRecord: "r-1", sparkline: [0, 1, 2])
        group.fingerprintRule = 2
        group.mutedUntilCount = 5
        group.resolvedIn = "2.4"
        group.isResolvedInNext = true
        group.stateChange = IssueStateChange(user: 7, time: moment, note: "n")
        return group
    }()

    static let minimalGroup = IssueGroup(
        id: "g", title: "t", level: .debug, state: .open, app: nil, user: 0, fingerprint: "", records: 0,
        occurrences: 0, firstSeen: IssueTimestamp(millisecondsSince1970: 0),
        lastSeen: IssueTimestamp(millisecondsSince1970: 0))

    static let deployment = IssueDeployment(
        app: "shop", user: 1000, version: "1.0 (7)", deployedAt: moment, isObserved: true, commit: "c", note: "n",
        author: 7)

    static let fate = IssueFate(
        destination: "logz", outcome: .deadLettered, attempts: 3, timestamp: moment, answer: "400", maybeDuplicate: true
    )

    static let minimalFate = IssueFate(
        destination: "logz", outcome: .pending, attempts: 0, timestamp: nil, answer: nil, maybeDuplicate: false)

    static var ledger: Ledger {
        var ledger = Ledger()
        for (index, fate) in IssueFate.Outcome.allCases.enumerated() { ledger[fate] = Int64(1) << Int64(index) }
        ledger.received = 127
        return ledger
    }

    static let destination = DestinationStatus(
        name: "logz", kind: "logz", state: .paused, reason: "401", failingSince: moment, advice: "Renew the token.",
        ledger: ledger, pendingCorrections: 5, oldestPending: moment, nextAttempt: moment, lastAnswer: "401",
        lastSuccess: moment, lastDeadLetter: moment, lastExpired: moment, requests: 1, resent: 2, possibleDuplicates: 3,
        bytesToday: 4)

    static let suppression = Suppression(
        destination: "logz", app: "shop", group: "g-1", reason: .groupRate, count: 5, since: moment, groups: 1)

    static let minimalSuppression = Suppression(
        destination: "logz", app: nil, group: nil, reason: .cardinality, count: 0, since: moment)

    static let store: StoreStatus = {
        var store = StoreStatus(
            id: "s", records: 1, groups: 2, bytes: 3, oldest: moment, freeBytes: 4, faults: ["set aside"],
            sqliteVersion: "3.40.1")
        store.faultIDs = ["store.set-aside"]
        store.path = "/state/issues.db"
        return store
    }()

    static let minimalStore = StoreStatus(
        id: "s", records: 0, groups: 0, bytes: nil, oldest: nil, freeBytes: nil, faults: [])

    static let status = DaemonStatus(
        version: "1.0.0", host: "h", startedAt: moment, received: 1, rejected: 2, duplicates: 3, refused: 5,
        connections: 4, store: store, destinations: [destination], suppressions: [suppression, minimalSuppression],
        otherSuppressions: 7, uptime: .milliseconds(8))

    static let minimalStatus = DaemonStatus(
        version: "1.0.0", host: "h", startedAt: moment, received: 0, rejected: 0, duplicates: 0, refused: 0,
        connections: nil, store: minimalStore, destinations: [], suppressions: [])

    static var filter: IssueFilter {
        var filter = IssueFilter()
        filter.apps = ["shop"]
        filter.versions = ["1", "2"]
        filter.environments = []
        filter.level = .warning
        filter.domains = ["d"]
        filter.codes = [1, -1]
        filter.files = ["Shop/Catalogue.swift"]
        filter.text = "price"
        filter.metadata = ["card=Visa", "order=1"]
        filter.groups = ["g-1"]
        filter.users = [0, .max]
        filter.units = ["shop.service"]
        filter.states = GroupState.allCases
        filter.sinceDeployment = .gone
        filter.outcomes = IssueFate.Outcome.allCases
        filter.destination = "logz"
        filter.since = moment
        filter.until = moment
        filter.traceIDs = ["4bf92f3577b34da6a3ce929d0e0e4736"]
        filter.requestIDs = ["r-7"]
        filter.endUsers = ["anna"]
        return filter
    }
}
