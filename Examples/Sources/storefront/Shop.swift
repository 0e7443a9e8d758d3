import Issues

/// A shop that reports many different issues.
struct Shop {
    func openForOneDay() {
        reportIssue("The shop opened late", level: .info, metadata: ["minutes": 7])
        readCatalogue()
        for order in 1041...1046 { take(order: order) }
        askWarehouse()
        countCash()
        reportIssue("The shop could not be locked", level: .critical, metadata: ["door": "back", "attempts": 3])
    }

    private func readCatalogue() {
        withIssueMetadata(["catalogue": "autumn"]) {
            reportIssue("A picture is missing", severity: .warning)
            reportIssue(ShopError.priceMissing(field: "price"), "Reading the catalogue")
            withIssueMetadata(["page": 12]) {
                reportIssue("A page has no articles", level: .warning, metadata: ["columns": [1, 2, 3]])
            }
        }
    }

    private func take(order: Int) {
        withIssueMetadata(["order": .init(order)]) {
            do {
                try pay(order)
            } catch {
                // Some of these are the same issue: the daemon puts them into one group.
                reportIssue(error, "Taking an order")
            }
        }
    }

    private func pay(_ order: Int) throws {
        switch order {
        case 1041, 1043, 1044: throw ShopError.paymentRefused(reason: "card expired")
        case 1045: throw ShopError.outOfStock(article: 17)
        case 1046: throw CancellationError()
        default: break
        }
    }

    private func askWarehouse() {
        reportIssue(
            WarehouseError(shelf: "B4"), "Asking the warehouse", level: .critical,
            metadata: ["answer": nil, "waited": 2.5, "robot": ["id": "r2", "battery": 0.04, "awake": true]])
        reportIssue("The delivery van is late", level: .warning)
        reportIssue("A route was planned again", level: .debug)
    }

    private func countCash() {
        reportIssue("The till is off by \(13) cents")
        reportIssue(metadata: ["till": 2, "drawer": "open"])
    }
}
