import SQLiteKit

extension StoreReader {
    /// Fails where a destination is asked for that there never was: what it has nothing of would read as good news.
    func expectDestination(_ name: String?) throws {
        guard let name else { return }
        let isKnown = try connection.withStatement("SELECT 1 FROM destinations WHERE name = ?1") { statement in
            statement.bind(name, at: 1)
            return try statement.first { _ in true } ?? false
        }
        guard !isKnown else { return }
        throw QueryFailure.invalidFilter(field: "destination", reason: "there is no destination '\(name)'")
    }
}
