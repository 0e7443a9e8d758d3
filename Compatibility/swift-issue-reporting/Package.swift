// swift-tools-version: 6.2
import PackageDescription

// Replaces the package of the same name: packages that depend on it report through Issues.
let package = Package(
    name: "swift-issue-reporting",
    products: [
        .library(name: "IssueReporting", targets: ["IssueReporting"]),
        .library(name: "IssueReportingTestSupport", targets: ["IssueReportingTestSupport"]),
    ],
    dependencies: [
        // If you copy this folder into your own package, use the URL of the repository and a version.
        .package(name: "issued", path: "../..")
    ],
    targets: [
        .target(name: "IssueReporting", dependencies: [.product(name: "Issues", package: "issued")]),
        .target(name: "IssueReportingTestSupport"),
    ],
    swiftLanguageModes: [.v6]
)
