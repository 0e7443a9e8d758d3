// swift-tools-version: 6.0
import PackageDescription

// A package like those that report through swift-issue-reporting 2.x. It must build unchanged if
// `Compatibility/swift-issue-reporting` replaces its dependency.
let package = Package(
    name: "swift-turnstile",
    products: [.library(name: "Turnstile", targets: ["Turnstile"])],
    dependencies: [
        .package(url: "https://github.com/pointfreeco/swift-issue-reporting", from: "2.0.0")
    ],
    targets: [
        .target(
            name: "Turnstile",
            dependencies: [
                .product(name: "IssueReporting", package: "swift-issue-reporting"),
                .product(name: "IssueReportingTestSupport", package: "swift-issue-reporting"),
            ])
    ]
)
