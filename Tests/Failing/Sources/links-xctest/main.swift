import Issues
import XCTest

// A program that runs no tests, and has the library for them all the same: as one that links a package with helpers for
// tests.
let test = XCTestCase.self
reportIssue("text from production")
flushIssues(timeout: .seconds(20))
print(isTesting, test == XCTestCase.self)
