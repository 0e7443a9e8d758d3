import IssueCommands
import IssueSQL

IssueControl.runProcess(Array(CommandLine.arguments.dropFirst())) { (path) throws(CommandFailure) in
    try StoreQueries(path: path)
}
