/// The current instruction to the reporters.
struct Phase {
    enum Activity {
        case reporting
        /// Nothing new is begun, and open calls are finished.
        case settling
        case ended
    }

    var activity = Activity.settling
    /// The number of times that the reporters were told to settle. Distinguishes the current instruction from earlier
    /// ones.
    var number = 0
    /// Whether the reporters must fill ranges.
    var fillsRanges = false
    /// The number of reporters that have settled.
    var settled = 0
    var ended = 0
}
