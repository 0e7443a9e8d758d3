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
        for call in calls { keep(call, in: spillFolder) }
    }

    // Small, so that even a run of half a second on a busy host gets one out.
    private static let keptBytes = 128 << 10

    private func keep(_ call: OutboxCall<Submission>, in folder: SpillFolder) {
        let text = call.text ?? ReportCall.text(of: call, producer: producer)
        if text.count > Self.keptBytes, call.entries.count > 1 {
            let (first, second) = call.halves
            keep(first, in: folder)
            return keep(second, in: folder)
        }
        let isKept = folder.keep(text, of: producer, from: call.sequence, issues: call.entries.count)
        let error =
            isKept
            ? DeliveryError(.postponed, "The process ends; its next run sends the issue.")
            : DeliveryError(.dropped, "The process ends, and the issue could not be kept for its next run.")
        for entry in call.entries { entry.payload.receipt?.fail(error) }
    }

    /// Begins to send what an earlier run has left behind, once, on a thread of its own.
    func pickUp(from path: String) {
        guard let spillFolder, !hasPickedUp.exchange(true, ordering: .relaxed) else { return }
        // Hardly ever is there anything, and then no thread is needed.
        func pickup(_ folder: SpillFolder, tellLost: (@Sendable (Int) -> Void)?) -> SpillPickup? {
            guard !folder.isEmpty else { return nil }
            return SpillPickup(
                folder: folder, sockets: [path], trust: trust, isStopped: { [self] in isStopped },
                pause: { [self] time in pause(time) }, tellLost: tellLost)
        }
        let pickups = [
            pickup(spillFolder, tellLost: { [self] lost in state.withLock { $0.outbox.lost(lost) } }),
            pickup(spillFolder.besideForCommand, tellLost: nil),
        ].compactMap(\.self)
        guard !pickups.isEmpty else { return }
        state.withLock { $0.isPickingUp = true }
        let body: @Sendable () -> Void = { [self] in
            Forks.heldOff { for pickup in pickups { pickup.run() } }
            state.withLock { $0.isPickingUp = false }
            state.broadcast()
        }
        guard (try? Thread.start(name: "issues-unsent", body: body)) == nil else { return }
        state.withLock { $0.isPickingUp = false }
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Waits; false where delivery ends meanwhile.
    private func pause(_ time: Duration) -> Bool {
        let deadline = MonotonicClock.now.advanced(by: time)
        return Forks.admitted {
            state.wait(deadline: deadline) { state -> Bool? in state.isStopped ? true : nil } == nil
        }
    }

    func waitForPickup(until deadline: KernelInstant) {
        _ = state.wait(deadline: deadline) { state -> Bool? in state.isPickingUp ? nil : true }
    }
}
