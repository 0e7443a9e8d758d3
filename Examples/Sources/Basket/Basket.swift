import Issues

/// The articles that a customer is about to buy.
package struct Basket {
    package private(set) var articles: [String] = []

    package init() {}

    package mutating func add(_ article: String) {
        articles.append(article)
    }

    /// Removes an article. Reports an issue if the article isn't in the basket.
    package mutating func remove(_ article: String) {
        guard let index = articles.firstIndex(of: article) else {
            return reportIssue("An article is not in the basket", level: .error, metadata: ["article": .init(article)])
        }
        articles.remove(at: index)
    }

    /// Returns the total price; articles without a price count as 0.
    package func price(_ prices: [String: Int]) -> Int {
        articles.reduce(0) { sum, article in
            guard let price = prices[article] else {
                reportIssue("An article has no price", level: .warning, metadata: ["article": .init(article)])
                return sum
            }
            return sum + price
        }
    }
}
