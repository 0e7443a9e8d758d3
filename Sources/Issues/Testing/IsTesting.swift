/// Whether this process runs tests.
///
/// Found once, by the test libraries that are loaded, or by the variables that
/// Bazel and others set. What the current task does is answered by
/// ``TestContext/current``.
public let isTesting: Bool = TestRun.isThere
