import IssueBrowsing
import Issues

/// The daemon's methods, as the commands call them: what goes wrong is said to a person.
typealias Collector = BrowserSession<CommandFailure>

typealias Answer = BrowserAnswer
