import Basket
import Issues
import Testing

@Suite("A basket")
struct BasketTests {
    @Test("Removing an article that was added reports nothing")
    func removal() {
        // No setup needed: a report would fail this test.
        var basket = Basket()
        basket.add("lamp")
        basket.remove("lamp")
        #expect(basket.articles.isEmpty)
    }

    @Test("Removing an article that is not in the basket is reported")
    func absent() {
        var basket = Basket()
        expectReportsIssue {
            basket.remove("lamp")
        } matching: {
            $0.description.contains("not in the basket")
        }
    }

    @Test("The report has the article in its metadata")
    func metadata() {
        let sink = CollectingSink()
        var basket = Basket()
        withIssueReporters([sink]) { basket.remove("lamp") }
        #expect(sink.reports.map(\.level) == [.error])
        #expect(sink.reports.first?.metadata["article"] == "lamp")
    }

    @Test("A known issue doesn't fail the test")
    func known() {
        var basket = Basket()
        withExpectedIssue("the shop removes articles that are not in the basket") { basket.remove("lamp") }
    }

    @Test("An article without a price counts as 0")
    func price() {
        var basket = Basket()
        basket.add("lamp")
        basket.add("chair")
        let price = withIssueReporters([]) { basket.price(["lamp": 40]) }
        #expect(price == 40)
    }
}
