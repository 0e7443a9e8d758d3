/// The configuration of a listener.
package struct FakeLogzOptions: Hashable, Sendable {
    /// The port; 0 chooses a free one.
    package var port: UInt16 = 0
    package var controlPort: UInt16 = 0
    package var tokens: Set<String> = []
    package var plan: [FaultStep] = []
    /// The file to which all events are appended.
    package var ledger: String?
    package var limitAppliesTo = SizeLimitScope.both
    /// `true` to accept requests whose only faults are blank lines. The service counts blank lines; whether they alone
    /// cause a 400 is unknown.
    package var emptyLineIsError = true
    /// `true` to count lines with tags as unexpected.
    package var isStrict = false

    package init(tokens: Set<String> = [], plan: [FaultStep] = []) {
        self.tokens = tokens
        self.plan = plan
    }
}
