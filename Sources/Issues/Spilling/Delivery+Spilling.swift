internal import Synchronization
internal import UnixIO

extension Delivery {
    /// Leaves to the next run of the application what is not answered yet, and sends nothing any more.
    ///
    /// For the end of the process. Without a folder it stays in the buffer.
    package func spill() {
        guard let spillFolder else { return }
        let thread = CurrentProcess.threadID
        let calls = state.withLock { state -> [OutboxCall<Submission>] in
            guard state.threadID != thread else { return [] }
            state.isStopped = true
            return state.outbox.takeAll()
        }
        guard !calls.isEmpty else { return }
        var texts: [UInt8] = []
        for call in calls { append(call, to: &texts) }
        let issues = calls.reduce(0) { $0 + $1.entries.count }
        let isKept = spillFolder.keep(texts, of: producer, issues: issues)
        let error =
            isKept
            ? DeliveryError(.postponed, "The process ends; its next run sends the issue.")
            : DeliveryError(.dropped, "The process ends, and the issue could not be kept for its next run.")
        for call in calls {
            for entry in call.entries { entry.payload.receipt?.fail(error) }
        }
    }

    private func append(_ call: OutboxCall<Submission>, to texts: inout [UInt8]) {
        let text = call.text ?? ReportCall.text(of: call, producer: producer)
        if text.count > OutboxLimits().callBytes, call.entries.count > 1 {
            let (first, second) = call.halves
            append(first, to: &texts)
            append(second, to: &texts)
        } else {
            texts += text
        }
    }

    /// Begins to send what an earlier run has left behind, once, on a thread of its own.
    func pickUp(from path: String) {
        guard let spillFolder, !hasPickedUp.exchange(true, ordering: .relaxed) else { return }
        // Hardly ever is there anything, and then no thread is needed.
        guard !spillFolder.files.isEmpty else { return }
        let pickup = SpillPickup(folder: spillFolder, socket: path, delivery: self)
        _ = try? Thread.start(name: "issues-unsent") { pickup.run() }
    }
}
