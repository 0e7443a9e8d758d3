/// What people can do about an error.
public enum Recovery: Sendable {
    /// Take note of it.
    case acknowledge
    /// Nothing: the program has to end.
    case terminate
    /// Choose what is to be done; one way at least, and others.
    case heal(HealingOption, [HealingOption])

    /// Choose what is to be done.
    public static func heal(_ first: HealingOption, _ others: HealingOption...) -> Recovery {
        .heal(first, others)
    }
}
