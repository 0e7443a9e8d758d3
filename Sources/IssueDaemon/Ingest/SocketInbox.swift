import IssueCore
import IssueStore

/// What other threads have for the thread of the socket.
struct SocketInbox: Sendable {
    var outcomes: [CallOutcome] = []
    var refusals: [Refusal] = []
    var answers: [Answer] = []
    /// Connections whose flush has come to its end at one more destination.
    var flushed: [UInt64] = []
    /// Whoever asks whether this thread lives.
    var pulses: [Pulse] = []
    /// Where connections come from now.
    var listener: Listener?
    var hasNewRecords = false
    var hasNewFates = false
    var isStopping = false
    /// Nobody answers any more, so nobody is to wait.
    var isEnding = false

    mutating func take() -> SocketInbox {
        let taken = self
        self = SocketInbox()
        isStopping = taken.isStopping
        return taken
    }
}
