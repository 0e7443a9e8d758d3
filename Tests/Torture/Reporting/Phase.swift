/// What reporters are to do.
struct Phase {
    enum Doing {
        case reporting
        /// Nothing new is begun, and what was begun is brought to its end.
        case settling
        case ended
    }

    var doing = Doing.settling
    /// Which settling it is, so that none is taken for another.
    var number = 0
    /// Whether ranges are to be filled.
    var fillsRanges = false
    /// How many have settled.
    var settled = 0
    var ended = 0
}
