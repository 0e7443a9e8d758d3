import IssueCore
import SQLiteKit

// The conformance is here because IssueCore knows no database, and SQLiteKit knows none of our tables.
extension RowID: DatabaseID {}
extension SeriesID: DatabaseID {}
