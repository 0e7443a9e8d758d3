import IssueCore
import IssueProtocol
import Testing

@Suite("Rules of notifiers")
struct NotificationRuleTests {
    private static let now = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000)

    private static func subject(
        _ kinds: NotificationKinds = .new, app: String = "shop", environment: String? = "production",
        severity: IssueLevel = .error, unit: String? = "shop@1.service"
    ) -> NotificationSubject {
        NotificationSubject(
            kinds: kinds, app: app, environment: environment, severity: severity, unit: unit, group: "g1")
    }

    private static func filter(_ change: (inout NotificationFilter) -> Void) -> NotificationFilter {
        var filter = NotificationFilter()
        change(&filter)
        return filter
    }

    static let cases: [(filter: NotificationFilter, subject: NotificationSubject, isAdmitted: Bool)] = [
        (filter { _ in }, subject(), true),
        (filter { $0.kinds = .critical }, subject(), false),
        (filter { $0.kinds = .critical }, subject([.new, .critical]), true),
        (filter { $0.kinds = .new }, subject([.new, .critical]), true),
        (filter { $0.severity = .error }, subject(severity: .warning), false),
        (filter { $0.severity = .error }, subject(severity: .critical), true),
        (filter { $0.apps = ["shop"] }, subject(), true),
        (filter { $0.apps = ["shop"] }, subject(app: "shop2"), false),
        (filter { $0.apps = ["sh*", "x"] }, subject(app: "shop2"), true),
        (filter { $0.environments = ["production"] }, subject(), true),
        (filter { $0.environments = ["production"] }, subject(environment: nil), false),
        (filter { $0.environments = ["*"] }, subject(environment: nil), true),
        (filter { $0.units = ["shop@*"] }, subject(), true),
        (filter { $0.units = ["shop@*"] }, subject(unit: "cart.service"), false),
        (filter { $0.units = ["shop*service"] }, subject(), false),
    ]

    @Test("An event is reported if its kind, severity, application, environment and unit match", arguments: cases)
    func admission(filter: NotificationFilter, subject: NotificationSubject, isAdmitted: Bool) {
        #expect(filter.admits(subject) == isAdmitted)
    }

    @Test("The configuration key that excludes an event is named, or the first one if there are several")
    func exclusions() {
        let filter = Self.filter {
            $0.kinds = .new
            $0.severity = .error
            $0.apps = ["shop"]
            $0.environments = ["production"]
            $0.units = ["shop*"]
        }
        #expect(filter.exclusion(of: Self.subject()) == nil)
        #expect(filter.exclusion(of: Self.subject(.regressed, severity: .debug)) == "On")
        #expect(filter.exclusion(of: Self.subject(severity: .debug)) == "Severity")
        #expect(filter.exclusion(of: Self.subject(app: "cart")) == "Apps")
        #expect(filter.exclusion(of: Self.subject(environment: "test")) == "Environments")
        #expect(filter.exclusion(of: Self.subject(unit: "cart.service")) == "Units")
    }

    @Test("For events of the daemon itself only the kind matters")
    func ownEvents() {
        let filter = Self.filter {
            $0.kinds = [.storeFault]
            $0.apps = ["shop"]
        }
        #expect(filter.admits(.storeFault))
        #expect(!filter.admits(.destinationPaused))
    }

    @Test("By default, all kinds but dead letters and reached limits are reported")
    func defaults() {
        let kinds = NotificationFilter().kinds
        #expect(NotificationKinds.all.subtracting(kinds).names == ["dead-letters", "limit-reached"])
    }

    @Test("Every kind has a name, and the names are in order of urgency")
    func names() {
        for (index, named) in NotificationKinds.named.enumerated() {
            #expect(NotificationKinds(name: named.name) == named.kind)
            #expect(named.kind.urgency == index)
        }
        #expect(NotificationKinds(name: "old") == nil)
        #expect(([.new, .critical] as NotificationKinds).names == ["critical", "new"])
        #expect(NotificationKinds.all.names.count == NotificationKinds.named.count)
    }

    static let silences: [(silence: IssueSilence, isCovered: Bool)] = [
        (IssueSilence(apps: ["shop"], until: now.advanced(by: .seconds(1)), reason: "r"), true),
        (IssueSilence(apps: ["shop"], until: now, reason: "r"), false),
        (IssueSilence(apps: ["cart"], until: now.advanced(by: .seconds(1)), reason: "r"), false),
        (IssueSilence(groups: ["g1"], until: now.advanced(by: .seconds(1)), reason: "r"), true),
        (IssueSilence(apps: ["shop"], groups: ["g2"], until: now.advanced(by: .seconds(1)), reason: "r"), false),
        (IssueSilence(apps: ["s*"], units: ["shop@*"], until: now.advanced(by: .seconds(1)), reason: "r"), true),
    ]

    @Test("A silence covers the events that match all of its lists until it ends", arguments: silences)
    func silence(silence: IssueSilence, isCovered: Bool) {
        #expect(silence.covers(Self.subject(), at: Self.now) == isCovered)
    }

    @Test("A silence needs an end in the future, a reason and something to match")
    func silenceParameters() {
        let until = Self.now.advanced(by: .seconds(1))
        func invalid(_ silence: IssueSilence) -> String? { silence.invalidParameter(at: Self.now) }
        #expect(invalid(IssueSilence(apps: ["a"], until: until, reason: "r")) == nil)
        #expect(invalid(IssueSilence(apps: ["a"], until: Self.now, reason: "r")) == "until")
        #expect(invalid(IssueSilence(apps: ["a"], until: until, reason: "")) == "reason")
        #expect(
            invalid(IssueSilence(apps: ["a"], until: until, reason: String(repeating: "r", count: 501))) == "reason")
        #expect(invalid(IssueSilence(until: until, reason: "r")) == "apps")
        #expect(invalid(IssueSilence(apps: ["a"], units: [""], until: until, reason: "r")) == "units")
        let group = "g0123456789abcdef"
        #expect(invalid(IssueSilence(groups: Array(repeating: group, count: 50), until: until, reason: "r")) == nil)
        #expect(
            invalid(IssueSilence(groups: Array(repeating: group, count: 51), until: until, reason: "r")) == "groups")
        for wrong in ["g1", "*", "s0123456789abcdef", "g0123456789ABCDEF", "g0123456789abcdeg", "g0123456789abcdé"] {
            #expect(invalid(IssueSilence(groups: [wrong], until: until, reason: "r")) == "groups", "\(wrong)")
        }
        #expect(invalid(IssueSilence(apps: ["shop*", "*"], until: until, reason: "r")) == nil)
        for wrong in ["s*p", "**", "a\nb", String(repeating: "a", count: 257)] {
            #expect(
                invalid(IssueSilence(environments: [wrong], until: until, reason: "r")) == "environments", "\(wrong)")
        }
        let long = Array(repeating: String(repeating: "a", count: 200), count: 41)
        #expect(invalid(IssueSilence(units: long, until: until, reason: "r")) == "units")
        #expect(invalid(IssueSilence(apps: ["a"], until: until, reason: " \n")) == "reason")
        let far = Self.now.advanced(by: .seconds(366 * 86_400))
        #expect(invalid(IssueSilence(apps: ["a"], until: far, reason: "r")) == nil)
        #expect(invalid(IssueSilence(apps: ["a"], until: far.advanced(by: .seconds(1)), reason: "r")) == "until")
    }
}

@Suite("Queue, pace and digest of notifications")
struct NotificationQueueTests {
    private let at = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000)

    private func notices(_ count: Int64, uid: UInt32?, from first: Int64 = 0, _ kinds: NotificationKinds = .new)
        -> [Notice]
    {
        (first..<first + count).map {
            Notice(
                id: $0, kinds: kinds, record: uid == nil ? nil : RowID($0 + 1), uid: uid, text: uid == nil ? "t" : nil,
                at: at)
        }
    }

    private func instant(_ seconds: Int64) -> RecordLogInstant { RecordLogInstant(milliseconds: seconds * 1000) }

    @Test("Above a user's share, events are only counted, so a flood takes no place from others")
    func flood() {
        var limiter = NoticeLimiter()
        let own = (0..<10_000).count { _ in limiter.add(1000, .new) }
        #expect(own == NoticeLimiter.maxEntriesOfUser)
        for user in 2000..<2100 as Range<UInt32> {
            for _ in 0..<100 { _ = limiter.add(user, .new) }
        }
        // The queue is full now. A user without entries still gets one, and the daemon itself too.
        let quiet = (limiter.add(3000, .new), limiter.add(3000, .new))
        #expect(quiet == (true, false))
        let isOwnAdded = limiter.add(nil, .storeFault)
        #expect(isOwnAdded)
    }

    @Test("A user's first event of each kind has its own entry, even during their flood of another kind")
    func rareInFlood() {
        var limiter = NoticeLimiter(notices(20, uid: 1000))
        let rare: [NotificationKinds] = [.escalated, .regressed, [.new, .critical], .limitReached]
        for kind in rare {
            let added = (limiter.add(1000, kind), limiter.add(1000, kind))
            #expect(added == (true, false))
        }
    }

    @Test("A digest names an event of each kind, however many there are of a more urgent or a more frequent one")
    func kindsInDigest() {
        let all =
            notices(20, uid: 1000) + notices(1, uid: 1000, from: 100, .escalated)
            + notices(15, uid: 1000, from: 200, .regressed) + notices(1, uid: 1000, from: 300, [.new, .critical])
        let digest = NotificationDigest(all)
        #expect(digest.listed.map(\.id) == [300, 200, 201, 202, 203, 204, 205, 206, 100, 0])
    }

    @Test("A queue that is restored from the store continues where it was")
    func restored() {
        var limiter = NoticeLimiter(notices(19, uid: 1000) + [Notice(kinds: .new, uid: 1000, count: 500, at: at)])
        let added = (limiter.add(1000, .new), limiter.add(1000, .new))
        #expect(added == (true, false))
    }

    @Test("Events are gathered for the delay, and then one message has all of them")
    func gathering() {
        let pacer = NotificationPacer(.unlimited, delay: .milliseconds(500), at: instant(0))
        let since = instant(10)
        #expect(pacer.whenNext([], since: since, at: since) == nil)
        #expect(pacer.whenNext(notices(1, uid: 1), since: since, at: since) == since.advanced(by: .milliseconds(500)))
        #expect(pacer.whenNext(notices(1, uid: 1), since: since, at: instant(20)) == instant(20))
    }

    @Test("A user who has used up their share delays their own messages, not those of others")
    func fairness() {
        let limit = BucketLimit(burst: 20, refill: Rate(30, per: .seconds(3600)))
        var pacer = NotificationPacer(limit, delay: .zero, at: instant(0))
        let flood = notices(20, uid: 1000)
        var sent = 0
        while pacer.whenNext(flood, since: instant(0), at: instant(0)) == instant(0), sent < 100 {
            pacer.take(flood, at: instant(0))
            sent += 1
        }
        #expect((5...14).contains(sent))
        // Another user's event causes a message at once, together with the waiting events of the first user.
        let both = flood + notices(1, uid: 1001, from: 50)
        #expect(pacer.whenNext(both, since: instant(0), at: instant(0)) == instant(0))
        // So does an event of the daemon itself.
        #expect(pacer.whenNext(notices(1, uid: nil), since: instant(0), at: instant(0)) == instant(0))
        // The user continues at the rate of the limit, which is two minutes per message.
        let next = pacer.whenNext(flood, since: instant(0), at: instant(0)) ?? instant(0)
        #expect(next > instant(0) && next <= instant(240))
    }

    @Test("At most the limit is sent, whoever causes the messages")
    func limit() {
        let limit = BucketLimit(burst: 20, refill: Rate(60, per: .seconds(3600)))
        var pacer = NotificationPacer(limit, delay: .zero, at: instant(0))
        var sent = 0
        for second in 0..<3600 as Range<Int64> {
            let waiting = notices(3, uid: UInt32(1000 + second % 300))
            guard pacer.whenNext(waiting, since: instant(second), at: instant(second)) == instant(second) else {
                continue
            }
            pacer.take(waiting, at: instant(second))
            sent += 1
        }
        #expect(sent <= 80)
        #expect(sent >= 40)
    }

    @Test("A digest lists events of each user in turn, the most urgent first, and counts the rest by user")
    func digest() {
        let counted = Notice(id: 900, kinds: .new, uid: 1000, count: 300, at: at)
        let all =
            notices(20, uid: 1000) + [counted] + notices(1, uid: 1001, from: 100)
            + notices(2, uid: 1002, from: 200, [.new, .critical]) + notices(1, uid: nil, from: 300, .storeFault)
        let digest = NotificationDigest(all)
        #expect(digest.listed.count == NotificationDigest.maxListed)
        #expect(digest.listed.prefix(3).map(\.id) == [300, 200, 201])
        #expect(digest.listed.contains { $0.uid == 1001 })
        #expect(digest.listed.count { $0.uid == 1000 } == 6)
        #expect(digest.others == [.init(uid: 1000, count: 314)])
        #expect(digest.counts.map(\.kind) == [.storeFault, .critical, .new])
        #expect(digest.counts.map(\.count) == [1, 2, 321])
    }

    @Test("Above five users, the digest counts the other users together")
    func manyUsers() {
        let all = (0..<40 as Range<UInt32>).map {
            Notice(id: Int64($0), kinds: .new, uid: $0, count: Int64($0) + 1, at: at)
        }
        let digest = NotificationDigest(all)
        #expect(digest.listed == [])
        #expect(digest.others.map(\.uid) == [39, 38, 37, 36, 35, nil])
        #expect(digest.others.reduce(0) { $0 + $1.count } == digest.counts.reduce(0) { $0 + $1.count })
    }

    @Test("A digest lists the newest event about the state of each destination, and no older one")
    func destinationStates() {
        func notice(_ id: Int64, _ kind: NotificationKinds, _ text: String) -> Notice {
            Notice(id: id, kinds: kind, text: text, at: at)
        }
        let states = [
            notice(0, .destinationPaused, "a: x"), notice(1, .destinationRecovered, "a: y"),
            notice(2, .destinationRecovered, "b: x"), notice(3, .destinationDelayed, "b: y"),
            notice(4, .deadLetters, "a: 3"),
        ]
        // Issues of more users than a digest lists events.
        let issues = (0..<12).flatMap { notices(2, uid: UInt32($0), from: 100 + 2 * Int64($0)) }
        let digest = NotificationDigest(states + issues)
        #expect(digest.listed.filter { $0.kinds != .new }.map(\.id) == [3, 4, 1])
        #expect(digest.listed.count == NotificationDigest.maxListed + 2)
        #expect(digest.others.last == .init(uid: nil, isOfDaemon: true, count: 2))
    }

    @Test("Events about the state of destinations have their own entries even after a flood of other events")
    func destinationStatesInFlood() {
        var limiter = NoticeLimiter(notices(100, uid: nil, .storeFault))
        for user in 0..<100 as Range<UInt32> {
            for _ in 0..<20 { _ = limiter.add(user, .new) }
        }
        for kind in [NotificationKinds.destinationPaused, .destinationRecovered, .destinationPaused] {
            let isAdded = limiter.add(nil, kind)
            #expect(isAdded)
        }
        let own = (0..<10_000).count { _ in limiter.add(nil, .destinationPaused) }
        #expect(own < NoticeLimiter.maxEntries)
    }

    @Test("Events of the daemon that a digest does not list are counted")
    func daemonEvents() {
        let digest = NotificationDigest(notices(14, uid: nil, .storeFault))
        #expect(digest.listed.count == 10 && digest.others == [.init(uid: nil, isOfDaemon: true, count: 4)])
        var message = NotificationMessage(
            id: "m", notifier: "n", host: "web1", at: at, attempt: 1, mayBeRepetition: false)
        (message.counts, message.others) = (digest.counts, digest.others)
        #expect(message.lines == ["and 4 more from the daemon"])
    }

    static let outcomes: [(verdict: DeliveryVerdict, attempts: Int, age: Int64, outcome: NotificationOutcome)] = [
        (.accepted, 1, 0, .delivered),
        (.accepted, 9, 9999, .delivered),
        (.partial(PartialAnswer(successful: 0)), 1, 0, .givenUp),
        (.tooLarge, 1, 0, .givenUp),
        (.paused(.notFound), 1, 0, .retry(after: .seconds(1), mayHaveArrived: false)),
        (.again(.refused, retryAfter: nil), 3, 0, .retry(after: .seconds(4), mayHaveArrived: false)),
        (.again(.tooManyRequests, retryAfter: .seconds(30)), 1, 0, .retry(after: .seconds(30), mayHaveArrived: false)),
        (.again(.serverError, retryAfter: nil), 1, 0, .retry(after: .seconds(1), mayHaveArrived: true)),
        (.ambiguous(.noAnswer), 20, 0, .retry(after: .seconds(300), mayHaveArrived: true)),
        (.again(.refused, retryAfter: nil), 1, 3600, .givenUp),
        (
            .again(.tooManyRequests, retryAfter: .seconds(999_999)), 1, 1,
            .retry(after: .seconds(3599), mayHaveArrived: false)
        ),
        (.again(.tooManyRequests, retryAfter: .seconds(999_999)), 2, 3600, .givenUp),
    ]

    @Test("A verdict and the message's age decide whether it is delivered, sent again or given up", arguments: outcomes)
    func outcome(verdict: DeliveryVerdict, attempts: Int, age: Int64, outcome: NotificationOutcome) {
        let found = NotificationOutcome(verdict, attempts: attempts, age: .seconds(age), retryFor: .seconds(3600))
        #expect(found == outcome)
    }

    static let storedAges: [(elapsed: Duration, age: Duration)] = [
        (.zero, .zero),
        (.seconds(3600), .seconds(3600)),
        (MessageAge.maxStored, MessageAge.maxStored),
        // The clock was wrong when the message was made, or is wrong now.
        (MessageAge.maxStored + .milliseconds(1), .zero),
        (.seconds(50 * 366 * 86_400), .zero),
        (.milliseconds(-1), .zero),
        (.seconds(-50 * 366 * 86_400), .zero),
    ]

    @Test(
        "The age of an earlier run's message comes from the wall clock; an age that is not credible counts as zero",
        arguments: storedAges)
    func storedAge(elapsed: Duration, age: Duration) {
        // The host has started after the message was made.
        let start = MonotonicInstant(sinceBoot: .seconds(10))
        let found = MessageAge(since: at, wall: at.advanced(by: elapsed), monotonic: start)
        #expect(found.duration(at: start) == age)
        #expect(found.duration(at: start.advanced(by: .seconds(60))) == age + .seconds(60))
    }
}

@Suite("Text of notifications")
struct NotificationTextTests {
    private let at = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000)

    private func message(_ items: [NotificationMessage.Item], _ events: [NotificationMessage.OwnEvent] = [])
        -> NotificationMessage
    {
        var message = NotificationMessage(
            id: "m1", notifier: "oncall", host: "web1", at: at, attempt: 1, mayBeRepetition: false)
        (message.items, message.ownEvents) = (items, events)
        let notices =
            items.map { Notice(kinds: $0.kinds, record: 1, uid: 1, at: at) }
            + events.map { Notice(kinds: $0.kinds, text: $0.text, at: at) }
        message.counts = NotificationDigest(notices).counts
        return message
    }

    private func item(
        _ kinds: NotificationKinds = .new, _ title: String = "Order failed", severity: IssueLevel = .error
    ) -> NotificationMessage.Item {
        NotificationMessage.Item(
            kinds: kinds, record: "r1", group: "g1", title: title, app: "shop", version: "2.4.0", environment: nil,
            severity: severity, unit: nil, uid: 1000, at: at)
    }

    @Test("One event is described in the title")
    func single() {
        #expect(message([item()]).title == "New issue in shop 2.4.0 on web1: Order failed")
        #expect(message([item()]).lines == ["issuectl show g1"])
        #expect(
            message([item([.new, .critical], severity: .critical)]).title
                == "New critical issue in shop 2.4.0 on web1: Order failed")
        #expect(
            message([item([.regressed, .critical], severity: .critical)]).title
                == "Critical issue regressed in shop 2.4.0 on web1: Order failed")
        #expect(
            message([item(.critical, severity: .critical)]).title
                == "Issue became critical in shop 2.4.0 on web1: Order failed")
        for (kind, heading) in [
            (NotificationKinds.destinationPaused, "Destination paused"), (.destinationDelayed, "Destination delayed"),
            (.destinationRecovered, "Destination recovered"), (.deadLetters, "Dead letters"),
        ] {
            let event = NotificationMessage.OwnEvent(kinds: kind, text: "logzio: unauthorised", at: at)
            #expect(message([], [event]).title == "\(heading) on web1: logzio: unauthorised")
        }
    }

    @Test("Several events are counted in the title and listed below")
    func several() {
        let event = NotificationMessage.OwnEvent(kinds: .storeFault, text: "No space", at: at)
        var found = message([item(.regressed), item(), item()], [event])
        #expect(found.title == "1 store fault and 1 regressed, 2 new issues on web1")
        #expect(found.lines.first == "Store fault: No space")
        #expect(found.lines.last == "New issue in shop 2.4.0: Order failed (g1)")
        found.others = [.init(uid: 1000, count: 7), .init(uid: nil, count: 2)]
        #expect(found.lines.suffix(2) == ["and 7 more from user 1000", "and 2 more from other users"])
        #expect(message([item(), item()]).title == "2 new issues on web1")
        #expect(message([item(.regressed), item()]).title == "1 regressed, 1 new issue on web1")
        let kinds: [NotificationKinds] = [
            .destinationDelayed, .destinationDelayed, .deadLetters, .destinationRecovered,
        ]
        let events = zip(kinds, "abcc").map { NotificationMessage.OwnEvent(kinds: $0, text: "\($1): x", at: at) }
        #expect(
            message([], events).title
                == "2 destinations delayed, 1 report of dead letters and 1 destination recovered on web1")
    }

    @Test("The title counts each destination once, with its newest state, however many events there are about it")
    func destinationsInTitle() {
        func notice(_ id: Int64, _ kind: NotificationKinds, _ text: String) -> Notice {
            Notice(id: id, kinds: kind, text: text, at: at)
        }
        let digest = NotificationDigest([
            notice(0, .destinationPaused, "a: x"), notice(1, .destinationRecovered, "a: x"),
            notice(2, .destinationPaused, "a: x"), notice(3, .destinationDelayed, "b: x"),
            notice(4, .destinationRecovered, "b: x"), notice(5, .deadLetters, "c: 1"), notice(6, .deadLetters, "c: 2"),
        ])
        var found = message([], digest.listed.map { .init(kinds: $0.kinds, text: $0.text ?? "", at: at) })
        (found.counts, found.others) = (digest.counts, digest.others)
        #expect(
            found.title == "1 destination paused, 2 reports of dead letters and 1 destination recovered on web1")
        #expect(found.total == 7 && found.lines.last == "and 3 more from the daemon")
    }

    @Test("The title says whether a message may be a repetition or is a test")
    func marks() {
        var found = message([item()])
        found.mayBeRepetition = true
        #expect(found.title.hasPrefix("(possible repetition) New issue"))
        var test = message([])
        test.isTest = true
        #expect(test.title == "Test of notifier oncall on web1")
    }

    @Test("Text of an application stays on its line and within its length")
    func hostileText() {
        let item = item(.new, "a\nNew issue in bank\u{2028}x\u{202E}y\u{0}" + String(repeating: "z", count: 1000))
        #expect(!item.title.contains("\n") && !item.title.unicodeScalars.contains("\u{202E}"))
        #expect(item.title.count == NotificationText.maxTitle)
        #expect(message([item]).text.split(separator: "\n").count == 2)
    }
}
