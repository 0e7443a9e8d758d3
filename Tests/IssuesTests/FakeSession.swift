import IssueProtocol
import UnixIO

/// A connection of the fake collector.
final class FakeSession: Sendable {
    private let collector: FakeCollector
    private let socket: FileDescriptor
    private let refused = Monitor<Int64?>(nil)

    init(collector: FakeCollector, socket: consuming FileDescriptor) {
        self.collector = collector
        self.socket = socket
    }

    func run() {
        var frames = CallReader()
        while !collector.isStopped {
            while let call = frames.next() {
                guard answer(call) else { return close() }
            }
            guard (try? Readiness.wait(socket, for: .read, timeout: .milliseconds(20))) == true else { continue }
            guard frames.read(from: socket) else { return close() }
        }
        close()
    }

    private func close() {
        // Shut down, because the socket is not closed until the last reference to this session is released.
        try? socket.shutdownBoth()
    }

    private func answer(_ call: VarlinkCall) -> Bool {
        switch CollectorMethod(fullName: call.method) {
        case .report?: return report(call)
        case .await?:
            let parameters = try? AwaitParameters(json: call.parameters)
            if let name = parameters?.destination, name != "LogzIO" {
                let reason = "there is no destination \"\(name)\"; known: LogzIO"
                return send(CollectorError.invalidFilter(field: "destination", reason: reason).reply.message)
            }
            collector.countAwait()
            let isSettled = collector.waitsForFates(within: parameters?.timeout ?? .zero)
            let fate = IssueFate(
                destination: "LogzIO", outcome: isSettled ? .delivered : .pending, attempts: 1,
                timestamp: IssueTimestamp(millisecondsSince1970: 0), answer: "200", maybeDuplicate: false)
            return reply(AwaitReply(fates: [fate]))
        case .records? where call.more:
            return reply(RecordsReply(records: [], next: "1"), continues: true)
                && reply(RecordsReply(records: [], next: "2"), continues: true)
                && reply(RecordsReply(records: [], next: nil))
        case .show?:
            let id = (try? IDParameters(json: call.parameters))?.id ?? ""
            return send(CollectorError.notFound(id: id).reply.message)
        case .flush?:
            // Never answered.
            collector.state.withLock { $0.flushes += 1 }
            collector.state.broadcast()
            return true
        case .deploy?, .removeDeployment?, .mergeGroups?, .addGroupRule?:
            collector.state.withLock { $0.changes += 1 }
            return false
        case .records?, .list?, .status?, .limits?, .retention?, .histogram?, .setState?, .deployments?, .deadLetters?,
            .requeue?, .splitGroup?, .splitByField?, .corrections?, .undoCorrection?, .explain?, .explainRecord?,
            .suggestMerges?, .purge?, .backup?, .repair?, .testNotifier?, .addSilence?, .listSilences?, .endSilence?,
            nil:
            return send(CollectorError.methodNotFound(call.method).reply.message)
        }
    }

    private func report(_ call: VarlinkCall) -> Bool {
        guard let report = try? ReportParameters(json: call.parameters), let producer = report.producer,
            let sequence = report.sequence
        else { return send(CollectorError.invalidParameter("records").reply.message) }

        let isBehindRefusal = refused.withLock { refused in refused.map { sequence > $0 } ?? false }
        if isBehindRefusal { return refuse(sequence, .busy(retryAfter: .milliseconds(5))) }
        let fault = collector.state.withLock { state in
            state.calls += 1
            return state.faults.isEmpty ? FakeCollector.Fault.none : state.faults.removeFirst()
        }
        defer { collector.state.broadcast() }

        switch fault {
        case .busy(let delay): return refuse(sequence, .busy(retryAfter: delay))
        case .noSpace: return refuse(sequence, .noSpace)
        case .tooLarge: return refuse(sequence, .tooLarge(limit: 1_000))
        case .invalid: return refuse(sequence, .invalidParameter("records"))
        case .closeUnread: return false
        case .none, .closeUnanswered, .late, .halfAnswer: break
        }

        refused.withLock { $0 = nil }
        let receipts = store(report.records, producer: producer, from: sequence)
        let message = VarlinkReply(parameters: ReportReply(receipts: receipts).json).message
        switch fault {
        case .closeUnanswered: return false
        case .halfAnswer:
            _ = send(Array(message.prefix(message.count / 2)))
            return false
        case .late:
            collector.state.broadcast()
            // Without a timeout, because a test on a busy machine may release the answer late.
            _ = collector.state.wait { $0.isReleased || $0.isStopped ? true : nil }
        case .none, .busy, .noSpace, .tooLarge, .invalid, .closeUnread: break
        }
        return send(message)
    }

    private func refuse(_ sequence: Int64, _ error: CollectorError) -> Bool {
        refused.withLock { $0 = min($0 ?? sequence, sequence) }
        return send(error.reply.message)
    }

    private func store(_ records: [IssueRecord], producer: String, from sequence: Int64) -> [RecordReceipt] {
        collector.state.withLock { state in
            var receipts: [RecordReceipt] = []
            for (index, record) in records.enumerated() {
                let number = sequence + Int64(index)
                let id = "\(producer.prefix(8))-\(number)"
                if record.message == "bad" {
                    receipts.append(.rejected(field: "message", reason: "is bad"))
                } else if number <= state.marks[producer] ?? 0 {
                    receipts.append(.duplicate(id: id))
                } else {
                    state.stored.append(
                        FakeCollector.Stored(id: id, producer: producer, sequence: number, record: record))
                    receipts.append(.stored(id: id))
                }
                state.marks[producer] = max(state.marks[producer] ?? 0, number)
            }
            return receipts
        }
    }

    private func reply(_ parameters: some JSONCodable, continues: Bool = false) -> Bool {
        send(VarlinkReply(parameters: parameters.json, continues: continues).message)
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        (try? socket.sendAll(bytes, timeout: .seconds(60))) != nil
    }
}

/// Decodes calls.
private struct CallReader {
    private var frames = FrameDecoder(limit: 4 << 20)

    mutating func next() -> VarlinkCall? {
        guard let frame = try? frames.next() else { return nil }
        return try? VarlinkCall(decoding: frames[frame])
    }

    mutating func read(from socket: borrowing FileDescriptor) -> Bool {
        let count = try? frames.receive(atMost: 64 << 10) { buffer, room throws(Errno) in
            try socket.read(into: &buffer, at: room.lowerBound, atMost: room.count)
        }
        return count ?? 0 > 0
    }
}
