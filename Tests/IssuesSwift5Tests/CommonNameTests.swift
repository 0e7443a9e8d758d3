import CommonNames
import Issues
import IssuesPresenting
import Testing

@Suite("Names of types")
struct CommonNameTests {
    @Test("Common type names of other modules stay unambiguous in a file that imports the libraries")
    func unambiguous() {
        let values: [Any] = [
            ApplicationInfo(), AssertionFailure(), DeliveryError(), ErrorHandling(), ErrorSource(), HealingOption(),
            Presenter(), PresenterTexts(), Problem(), Prompt(), Receipt(), Recovery(), TerminalPresenter(),
        ]
        #expect(values.map { String(reflecting: type(of: $0)) }.allSatisfy { $0.hasPrefix("CommonNames.") })
    }
}
