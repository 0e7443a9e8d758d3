import Issues

/// What somebody is about to buy.
package struct Basket {
    package private(set) var articles: [String] = []

    package init() {}

    package mutating func add(_ article: String) {
        articles.append(article)
    }

    /// Takes an article out. One that isn't in it is a mistake of ours, and no reason to stop.
    package mutating func remove(_ article: String) {
        guard let index = articles.firstIndex(of: article) else {
            return reportIssue("An article is not in the basket", level: .error, metadata: ["article": .init(article)])
        }
        articles.remove(at: index)
    }

    /// How much it costs, by prices that may not know every article.
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
