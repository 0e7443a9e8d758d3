package import IssueProtocol

/// The parts of the process that `report` uses besides input and output: time, names, and a place for unsent calls.
package struct ReportSurroundings {
    /// The time of day.
    package var now: () -> Timestamp
    /// Time that only goes forward, from any start.
    package var elapsed: () -> Duration
    package var sleep: (Duration) -> Void
    /// Returns a new random UUID.
    package var makeProducer: () -> String
    /// The name of the program that called this one; nil if it is unknown.
    package var caller: String?
    /// Keeps a call for the next run of a program that reports as this user.
    ///
    /// Takes the message, the producer and its first number. Returns the
    /// folder, or nil if the call can't be kept.
    package var keep: (_ call: [UInt8], _ producer: String, _ sequence: Int64) -> String?
    /// Sends what earlier runs have kept, to the socket that was named or those in the usual places.
    package var sendKept: (_ socket: String?) -> Void

    package init(
        now: @escaping () -> Timestamp, elapsed: @escaping () -> Duration, sleep: @escaping (Duration) -> Void,
        makeProducer: @escaping () -> String, caller: String?,
        keep: @escaping (_ call: [UInt8], _ producer: String, _ sequence: Int64) -> String?,
        sendKept: @escaping (_ socket: String?) -> Void
    ) {
        self.now = now
        self.elapsed = elapsed
        self.sleep = sleep
        self.makeProducer = makeProducer
        self.caller = caller
        self.keep = keep
        self.sendKept = sendKept
    }
}
