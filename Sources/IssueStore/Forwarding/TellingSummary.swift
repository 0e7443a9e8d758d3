import IssueProtocol
import SQLiteKit

/// The summary that counts a record which was held back.
struct TellingSummary: Equatable {
    /// As in the table: 0 is to be sent, 1 has arrived, 2 was given up.
    enum State: Int64 {
        case waiting
        case told
        case dead
    }

    var id: Int64
    var state: State
}

extension Connection {
    /// Which summary tells of a record that was held back for a reason; nothing while its window is open.
    func summary(
        tellingOf row: Int64, for reason: SuppressionReason, _ destination: Int64
    ) throws -> TellingSummary? {
        try withStatement(
            """
            SELECT summaries.id, summaries.state
            FROM summary_windows JOIN summaries ON summaries.id = summary_windows.summary
            WHERE summary_windows.destination = ?1
                AND summary_windows."group" = (
                    SELECT series."group" FROM records JOIN series ON series.id = records.series WHERE records.id = ?2
                )
                AND summary_windows.reason = ?3 AND last_id >= ?2 AND first_id <= ?2
            ORDER BY last_id LIMIT 1
            """
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(row, at: 2)
            statement.bind(reason.rawValue, at: 3)
            return try statement.first {
                TellingSummary(id: $0.int64(0), state: TellingSummary.State(rawValue: $0.int64(1)) ?? .told)
            }
        }
    }
}
