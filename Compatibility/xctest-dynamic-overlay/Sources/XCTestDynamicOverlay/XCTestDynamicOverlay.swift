@_exported import IssueReporting

// The functions of XCTestDynamicOverlay 1.x that packages on Linux use, together with those in Unimplemented.swift. The
// rest of its API is that of IssueReporting.

/// Reports an issue. In a test it fails the test.
///
/// - Parameters:
///   - message: A description of what went wrong.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - file: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
// swift-format-ignore: AlwaysUseLowerCamelCase
@_disfavoredOverload
public func XCTFail(
    _ message: String = "", fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line
) {
    reportIssue(message, fileID: fileID, filePath: file, line: line, column: 0)
}

/// `true` if this process runs tests.
public var _XCTIsTesting: Bool { isTesting }

/// The running test case. Always nil on Linux, as in the original.
// swift-format-ignore: AlwaysUseLowerCamelCase
@_spi(CurrentTestCase)
public var XCTCurrentTestCase: AnyObject? { nil }
