/// How a listener is set up.
package struct FakeLogzOptions: Hashable, Sendable {
    /// 0 takes any free one.
    package var port: UInt16 = 0
    package var controlPort: UInt16 = 0
    package var tokens: Set<String> = []
    package var plan: [FaultStep] = []
    /// The file to which all that happens is appended.
    package var ledger: String?
    package var limitAppliesTo = SizeLimitScope.both
    /// The service counts blank lines; whether they alone make a 400 is not known.
    package var emptyLineIsError = true
    /// Whether a line with tags is counted as one that should not have come.
    package var isStrict = false

    package init(tokens: Set<String> = [], plan: [FaultStep] = []) {
        self.tokens = tokens
        self.plan = plan
    }
}
