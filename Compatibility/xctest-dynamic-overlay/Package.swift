// swift-tools-version: 6.2
import PackageDescription

// Replaces the package of the same name: packages that depend on it report through Issues.
let package = Package(
    name: "xctest-dynamic-overlay",
    products: [
        .library(name: "IssueReporting", targets: ["IssueReporting"]),
        .library(name: "IssueReportingTestSupport", targets: ["IssueReportingTestSupport"]),
        .library(name: "XCTestDynamicOverlay", targets: ["XCTestDynamicOverlay"]),
    ],
    dependencies: [
        // If you copy this folder into your own package, use the URL of the repository and a version.
        .package(name: "issued", path: "../..")
    ],
    targets: [
        .target(name: "IssueReporting", dependencies: [.product(name: "Issues", package: "issued")]),
        .target(name: "IssueReportingTestSupport"),
        .target(name: "XCTestDynamicOverlay", dependencies: ["IssueReporting"]),
    ],
    swiftLanguageModes: [.v6]
)
