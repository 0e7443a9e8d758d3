import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl deploy`: declares that a version of an application was deployed, or removes such a declaration.
struct DeployCommand: Command {
    static let at = OptionSpecification("at", value: "TIME", "The time of the deployment (default: now)")
    static let commit = OptionSpecification("commit", value: "SHA", "The revision of the source code")
    static let note = OptionSpecification("note", value: "TEXT", "A note, such as the address of a change log")
    static let user = OptionSpecification(
        "user", value: "USER",
        "The user of the application, by id or name (default: you; for operators, all users)")

    static let remove = OptionSpecification(
        "remove", "Remove the latest declared deployment of VERSION")

    static let specification = CommandSpecification(
        name: "deploy", summary: "Declare that a version of an application was deployed",
        operands: .two("APP", "VERSION"), operandSources: [.applications],
        sections: [("Deployment", [at, commit, note, user, remove])],
        notes: [
            "resolve, mute and list use deployments to find out which version is newer. VERSION is the version "
                + "in the application's reports, with the build in parentheses if it has one. If VERSION is already "
                + "the version declared last, nothing is stored, so a service can run this command at every start.",
            "TIME is \(TimeExpression.forms). It must not be in the future.",
            "--remove does not change the states of issues. If VERSION was reported and no other deployment "
                + "declares it, issuectl deploys then lists it as seen in a report. Operators need --user to "
                + "remove a deployment that was declared for one user.",
        ],
        examples: [
            "issuectl deploy shop 2.4.0 --commit 3f1c9d2", "issuectl deploy shop 2.4.0 --at 2h",
            "issuectl deploy shop 2.4.0 --remove",
            "ExecStartPost=-/usr/bin/issuectl deploy shop 2.4.0    # in the service's unit",
        ])

    private let parameters: DeployParameters
    private let isRemoving: Bool

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        let at = try arguments.value(of: Self.at, expected: "a past time: \(TimeExpression.forms)") { text in
            TimeExpression.moment(text, now: now).flatMap { $0 <= now ? $0 : nil }
        }
        let user = try arguments.value(of: Self.user, expected: FilterOptions.userForms, FilterOptions.userID)
        isRemoving = arguments.has(Self.remove)
        if isRemoving, at != nil || arguments[Self.commit] != nil || arguments[Self.note] != nil {
            throw UsageError("--remove cannot be used with --at, --commit or --note")
        }
        parameters = DeployParameters(
            app: arguments.operands[0], version: arguments.operands[1], at: at, commit: arguments[Self.commit],
            note: arguments[Self.note], user: user)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        if isRemoving { return try remove(in: context) }
        let answer = try context.collector(denied: denied).call(CollectorCalls.deploy, parameters)
        try context.print(answer) { reply in
            let deployment = reply.deployment
            let time = PageTime.full(deployment.deployedAt, now: context.now)
            let verb = reply.isKnown == true ? "was already deployed" : "is deployed"
            return [TerminalSanitizer.line("\(deployment.app) \(deployment.version) \(verb), since \(time)")]
        }
    }

    /// The error message for users who may not declare or remove the deployment.
    private var denied: String {
        "permission denied: you can declare deployments only for your own user, and not as nobody or a dynamic user; "
            + "only root, the daemon's user and the groups in Operators= (issued.conf) may do so for others"
    }

    private func remove(in context: CommandContext) throws(CommandFailure) {
        let (app, version) = (parameters.app, parameters.version)
        let collector = try context.collector(
            notFound: { _ in
                let user = parameters.user.map { "user \($0)" } ?? "you (for operators: for all users)"
                return "no deployment of \(app) \(version) was declared for \(user): see the column USER of "
                    + "issuectl deploys \(app)"
            }, denied: denied)
        let answer = try collector.call(
            CollectorCalls.removeDeployment,
            RemoveDeploymentParameters(app: app, version: version, user: parameters.user))
        try context.print(answer) { reply in
            let time = PageTime.full(reply.deployment.deployedAt, now: context.now)
            return [TerminalSanitizer.line("Removed the deployment of \(app) \(version) at \(time)")]
        }
    }
}

/// `issuectl deploys`: lists deployments.
struct DeploysCommand: Command {
    static let specification = CommandSpecification(
        name: "deploys", summary: "List deployments, latest first", operands: .optional("APP"),
        operandSources: [.applications],
        sections: [("Output", [PagingOptions.limit, PagingOptions.all])],
        notes: [
            "A version whose deployment no one declared is listed as seen in a report, with the time of its first "
                + "report."
        ],
        examples: ["issuectl deploys shop", "issuectl deploys --json"])

    private let app: String?
    private let paging: PagingOptions

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        app = arguments.operands.first
        paging = try PagingOptions(arguments)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        try paging.print(
            CollectorCalls.deployments, Self.columns,
            empty: app == nil ? "No deployments." : "No deployments of this application.", in: context
        ) { limit, after in
            DeploymentsParameters(app: app, limit: limit, after: after)
        } rows: { reply in
            reply.deployments.map { row($0, in: context) }
        }
    }

    private static let columns = [
        Column("DEPLOYED"), Column("APP", maximum: 24), Column("VERSION", maximum: 40),
        Column("USER", expendability: 2), Column("BY", expendability: 3),
        Column("COMMIT", maximum: 16, expendability: 4), Column("NOTE", minimum: 12),
    ]

    private func row(_ deployment: IssueDeployment, in context: CommandContext) -> [Cell] {
        [
            Cell(RelativeTime.text(deployment.deployedAt, now: context.now)), Cell(deployment.app),
            Cell(deployment.version), Cell(deployment.user.map { context.user($0) } ?? "all"),
            Cell(deployment.isObserved ? "report" : deployment.author.map { "user \(context.user($0))" } ?? "-"),
            Cell(deployment.commit ?? "-"), Cell(deployment.note ?? (deployment.isObserved ? "seen in a report" : "-")),
        ]
    }
}
