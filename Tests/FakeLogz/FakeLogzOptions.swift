/// The configuration of a listener.
package struct FakeLogzOptions: Hashable, Sendable {
    /// The port; 0 chooses a free one.
    package var port: UInt16 = 0
    package var controlPort: UInt16 = 0
    package var tokens: Set<String> = []
    package var plan: [FaultStep] = []
    /// The file to which each request, accepted line and response is appended; nil for none.
    package var ledger: String?
    package var limitAppliesTo = SizeLimitScope.both
    /// Whether a request whose only errors are blank lines gets a 400. The service counts blank lines; it is unknown
    /// whether they alone cause a 400.
    package var emptyLineIsError = true
    /// Whether an expectation fails if an accepted line has a tag.
    package var isStrict = false

    package init(tokens: Set<String> = [], plan: [FaultStep] = []) {
        self.tokens = tokens
        self.plan = plan
    }
}
