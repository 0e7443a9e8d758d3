import Basket
import Issues
import Testing

@Suite("A basket")
struct BasketTests {
    @Test("What was put in can be taken out, and nothing is reported")
    func removal() {
        // No setup needed: a report would fail this test.
        var basket = Basket()
        basket.add("lamp")
        basket.remove("lamp")
        #expect(basket.articles.isEmpty)
    }

    @Test("Taking out what is not in it is reported")
    func absent() {
        var basket = Basket()
        expectReportsIssue {
            basket.remove("lamp")
        } matching: {
            $0.description.contains("not in the basket")
        }
    }

    @Test("A report says which article it was")
    func facts() {
        let heard = Heard()
        var basket = Basket()
        withIssueReporters([heard]) { basket.remove("lamp") }
        #expect(heard.reports.map(\.level) == [.error])
        #expect(heard.reports.first?.metadata["article"] == "lamp")
    }

    @Test("A fault that is known of doesn't fail the test")
    func known() {
        var basket = Basket()
        withExpectedIssue("the shop removes twice") { basket.remove("lamp") }
    }

    @Test("What has no price costs nothing; a warning fails no test")
    func price() {
        var basket = Basket()
        basket.add("lamp")
        basket.add("chair")
        let price = withIssueReporters([]) { basket.price(["lamp": 40]) }
        #expect(price == 40)
    }
}
