import IssueCore
import SQLiteKit

// The conformances are here because IssueCore knows no database, and SQLiteKit knows none of our tables.
extension AccountID: DatabaseID {}
extension BatchID: DatabaseID {}
extension GroupID: DatabaseID {}
extension ProcessRowID: DatabaseID {}
extension RowID: DatabaseID {}
extension SeriesID: DatabaseID {}
