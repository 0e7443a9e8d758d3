import Destinations
import HTTPTransfer
import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Sending messages, and storing the results.
extension NotifierLoop {
    /// `true` if a message can be sent now, or if events wait and the time of their message is unknown.
    var isMessageDue: Bool {
        guard let row = opened?.row, row.message != nil || !row.waiting.isEmpty else { return false }
        guard let next = row.message == nil ? nextMessage : nextAttempt else { return true }
        return next <= Clock.monotonic
    }

    /// Sends the pending message again or, if there is none, a new message. Does nothing if the message is not due.
    /// Returns `true` if an attempt was made.
    func deliver() throws -> Bool {
        nextMessage = nil
        var (reader, row) = try open()
        let id = service.id
        if row.message == nil {
            guard let since = waitingSince, !row.waiting.isEmpty else { return false }
            let now = Clock.sinceBoot
            guard let next = pacer.whenNext(row.waiting, since: since, at: now) else { return false }
            guard next <= now else {
                nextMessage = Clock.monotonic.advanced(by: now.duration(to: next))
                return false
            }
            try update(try service.writer.perform { try $0.beginMessage(notifier: id, at: Clock.wall) })
            // Counted only now, because a message that could not be stored must not use up the rate.
            pacer.take(row.waiting, at: now)
            waitingSince = nil
            (reader, row) = try open()
            guard let message = row.message else { return false }
            try attempt(message, mayBeRepetition: false, reader)
            return true
        }
        guard var message = row.message else { return false }
        if let nextAttempt, Clock.monotonic < nextAttempt { return false }
        let mayBeRepetition = message.maybeSent
        let number = message.id
        try service.writer.perform { try $0.beginAttempt(message: number) }
        message.attempts += 1
        opened?.row.message = message
        try attempt(message, mayBeRepetition: mayBeRepetition, reader)
        return true
    }

    /// Sends a message whose attempt is stored, and stores the result. Blocks until the request or command has ended.
    private func attempt(_ message: StoredMessage, mayBeRepetition: Bool, _ reader: StoreReader) throws {
        var content = NotificationMessage(
            id: "\(service.name)-\(message.id)-\(message.at.millisecondsSince1970)", notifier: service.name,
            host: service.host, at: message.at, attempt: Int(clamping: message.attempts),
            mayBeRepetition: mayBeRepetition)
        try fill(&content, with: message.notices, reader)
        nextAttempt = nil
        lastVerdict = nil
        publish(isSending: true)
        let age = messageAge(of: message)
        let result = send(content)
        let outcome = NotificationOutcome(
            result.verdict, attempts: Int(clamping: message.attempts),
            age: age.duration(at: Clock.monotonic), retryFor: settings.retryFor)
        let fate: MessageFate
        switch outcome {
        case .delivered: fate = .delivered
        case .givenUp: fate = .givenUp
        case .retry(let delay, let mayHaveArrived):
            fate = .retry(maybeSent: mayBeRepetition || mayHaveArrived)
            nextAttempt = Clock.monotonic.advanced(by: delay)
        }
        lastVerdict = result.verdict
        logOutcome(outcome, result, content)
        let (id, number, answer) = (service.id, message.id, result.summary.text)
        let isRepeated = mayBeRepetition || result.mayHaveArrivedTwice
        try update(
            try service.writer.perform { writer in
                try writer.settle(
                    message: number, notifier: id, as: fate, isRepeated: isRepeated, answer: answer, at: Clock.wall)
            })
    }

    /// Logs the first failure of an outage, each message that is given up, and the end of the outage.
    private func logOutcome(_ outcome: NotificationOutcome, _ result: DeliveryResult, _ message: NotificationMessage) {
        let fields: KeyValuePairs = [
            "notifier": service.name, "message": message.id, "events": "\(message.total)",
            "answer": result.summary.text,
        ]
        switch outcome {
        case .delivered:
            if isFailureLogged { service.log.notice(.notifierAvailable, ["notifier": service.name]) }
            isFailureLogged = false
        case .retry:
            if !isFailureLogged { service.log.warning(.notifierUnavailable, fields) }
            isFailureLogged = true
        case .givenUp:
            service.log.warning(.notifierGaveUp, fields)
            isFailureLogged = true
        }
    }

    /// Returns the age of a message. All attempts of this loop to send the message measure the age from the same time.
    private func messageAge(of message: StoredMessage) -> MessageAge {
        if let lastMessage, lastMessage.id == message.id, lastMessage.at == message.at { return lastMessage.age }
        let age = MessageAge(since: message.at, wall: Clock.wall, monotonic: Clock.monotonic)
        lastMessage = (message.id, message.at, age)
        return age
    }

    /// Adds the counts of all events to a message, and lists some events. Events whose record no longer exists are not
    /// listed.
    private func fill(_ content: inout NotificationMessage, with notices: [Notice], _ reader: StoreReader) throws {
        let digest = NotificationDigest(notices)
        (content.counts, content.others) = (digest.counts, digest.others)
        try reader.snapshot {
            for notice in digest.listed {
                if let text = notice.text {
                    content.ownEvents.append(.init(kinds: notice.kinds, text: text, at: notice.at))
                } else if let row = notice.record, let found = try reader.record(row: row) {
                    // An escalation gets the title of its issue. The record that reached the configured number is just
                    // one of many, and the message of a record in an overflow issue would be misleading.
                    let isEscalated = notice.kinds.contains(.escalated)
                    let title = isEscalated ? try reader.title(ofGroup: found.stored.group) : nil
                    var item = NotificationMessage.Item(found, title: title, kinds: notice.kinds)
                    if isEscalated, let rate = settings.escalation {
                        item.escalation = "\(rate.count) in \(DurationText.text(rate.period))"
                    }
                    content.items.append(item)
                }
            }
        }
    }

    private func send(_ message: NotificationMessage) -> DeliveryResult {
        if let command = settings.command {
            return CommandNotifier(command: command, timeout: settings.requestTimeout)
                .send(webhook.content(of: message), cancellation: service.cancellation)
        }
        let configuration = service.configuration
        var url = settings.url
        if let file = configuration.urlFile { url = (try? file.read()).flatMap { WebhookURL($0.text) } }
        guard let url else {
            return DeliveryResult(
                .paused(.noCredential), ResponseSummary("the file of URLCredential= can't be read or contains no URL"))
        }
        var token: ShippingToken?
        if let file = configuration.tokenFile {
            guard let found = try? file.read() else { return Credential.missing }
            token = found
        }
        return webhook.send(message, to: url, token: token, cancellation: service.cancellation) { Clock.wall }
    }

    /// Sends a test message once, and returns the result. A success is stored, because it shows that the receiver
    /// accepts messages again.
    func test() -> TestNotifierReply {
        var message = NotificationMessage(
            id: "\(service.name)-test-\(Clock.wall.millisecondsSince1970)", notifier: service.name,
            host: service.host, at: Clock.wall, attempt: 1, mayBeRepetition: false)
        message.isTest = true
        let result = send(message)
        if result.verdict == .accepted, service.hasStore {
            let (id, answer) = (service.id, result.summary.text)
            let row = try? service.writer.perform {
                try $0.testAccepted(notifier: id, answer: answer, at: Clock.wall)
            }
            // If the state is unknown, it is read from the store later.
            if opened != nil, let row {
                try? update(row)
                publish()
            }
        }
        return TestNotifierReply(delivered: result.verdict == .accepted, answer: result.summary.text)
    }

    /// Sends the events that are not stored, if an attempt is due. The result is not stored either.
    func sendUnstored() {
        guard let nextAttempt = unstored.nextAttempt, nextAttempt <= Clock.monotonic, !unstored.events.isEmpty else {
            return
        }
        let notices = unstored.events.enumerated().map {
            Notice(id: Int64($0), kinds: $1.kind, uid: $1.uid, text: $1.text, at: $1.at)
        }
        let digest = NotificationDigest(notices)
        var message = NotificationMessage(
            id: "\(service.name)-unstored-\(unstored.id)", notifier: service.name, host: service.host,
            at: notices[0].at,
            attempt: unstored.attempts + 1, mayBeRepetition: false)
        (message.counts, message.others) = (digest.counts, digest.others)
        message.ownEvents = digest.listed.map { .init(kinds: $0.kinds, text: $0.text ?? "", at: $0.at) }
        let result = send(message)
        let isFirst = unstored.attempts == 0
        switch result.verdict {
        // If no usable answer came, the message may have arrived, and is not sent again.
        case .accepted, .unconfirmed, .ambiguous: unstored.removeAll()
        case .partial, .paused, .tooLarge, .again:
            unstored.failed(nextAttempt: Clock.monotonic.advanced(by: service.recoveryTime))
        }
        // Only the first attempt and the end are logged: there are many attempts while both the store and the receiver
        // fail.
        guard isFirst || unstored.events.isEmpty else { return }
        service.log.notice(.notifierUnstored, ["notifier": service.name, "answer": result.summary.text])
    }
}

extension NotificationMessage.Item {
    /// - Parameter title: The title; nil for the message of the record.
    fileprivate init(_ row: RecordRow, title: String?, kinds: NotificationKinds) {
        let record = row.stored.record
        self.init(
            kinds: kinds, record: row.stored.id, group: row.stored.group, title: title ?? record.message,
            app: row.accountName,
            version: record.app?.version, environment: record.app?.environment, severity: record.severity ?? .error,
            unit: row.stored.sender.unit, uid: row.stored.sender.uid, at: row.receivedAt)
    }
}

/// Runs the program of a notifier for each message.
struct CommandNotifier: Sendable {
    var command: NotifierCommand
    var timeout: Duration

    /// EX_TEMPFAIL of sysexits.h.
    private static let temporaryFailure: Int32 = 75
    private static let environment = [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
    ]

    /// Runs the program, passes it a message on standard input, and waits until the program has ended.
    func send(_ content: WebhookContent, cancellation: HTTPCancellation) -> DeliveryResult {
        do throws(Errno) {
            let run = try CommandRun(
                command.arguments, environment: Self.environment, input: content.bytes, timeout: timeout
            ) { cancellation.isCancelled }
            return DeliveryResult(Self.verdict(on: run.end), ResponseSummary(Self.summary(of: run)))
        } catch {
            return DeliveryResult(
                .again(.unreachable, retryAfter: nil), ResponseSummary("the command could not be started: \(error)"))
        }
    }

    static func verdict(on end: CommandRun.End) -> DeliveryVerdict {
        switch end {
        case .exit(0): .accepted
        // The program itself states that it has not delivered the message.
        case .exit(temporaryFailure): .again(.tooManyRequests, retryAfter: nil)
        case .exit: .partial(PartialAnswer(successful: 0))
        // The program may have delivered the message before it was killed.
        case .signal, .timeout, .tooMuchOutput, .cancelled: .ambiguous(.noAnswer)
        }
    }

    /// Returns how the program ended, and the last part of its output.
    static func summary(of run: CommandRun) -> String {
        let end =
            switch run.end {
            case .exit(0): "exit status 0: accepted"
            case .exit(temporaryFailure): "exit status 75: temporary failure"
            case .exit(let status): "exit status \(status): refused"
            case .signal(let signal): "killed by signal \(signal)"
            case .timeout: "killed at the timeout"
            case .tooMuchOutput: "killed because it printed more than 1 MiB"
            case .cancelled: "killed because the daemon stops or reloads"
            }
        let output = NotificationText.line(
            String(decoding: run.output, as: UTF8.self), maxCharacters: CommandRun.keptOutput)
        let text = output.split(separator: " ").joined(separator: " ")
        return text.isEmpty ? end : "\(end) (\(text.count > 200 ? "…" : "")\(text.suffix(200)))"
    }
}
