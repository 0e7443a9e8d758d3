/// The harnesses. The program runs the one with the name under which it was started.
enum Harness: String, CaseIterable {
    case framing
    case json
    case template
    case redaction
    case search
    case record
    case report
    case parameters
    case envelope
    case stored
    case line
    case answer
    case storeAnswer = "store-answer"
    case configuration
    case text
    case process
    case reply
    case filter
    case setAside = "set-aside"
    case spill
    case planted
    case plantedGrowth = "planted-growth"

    /// The harness with the name of the program file, which has a link for each harness.
    static let chosen: Harness = {
        let name = CommandLine.arguments.first?.split(separator: "/").last ?? ""
        guard let harness = Harness(rawValue: String(name)) else {
            fatalError("The program must be called one of \(allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return harness
    }()

    func run(_ input: Span<UInt8>) {
        switch self {
        case .framing: FramingHarness.run(input)
        case .json: JSONHarness.run(input)
        case .template: TemplateHarness.run(input)
        case .redaction: RedactionHarness.run(input)
        case .search: SearchHarness.run(input)
        case .record: RecordHarness.run(input)
        case .report: ReportHarness.run(input)
        case .parameters: ParametersHarness.run(input)
        case .envelope: EnvelopeHarness.run(input)
        case .stored: StoredHarness.run(input)
        case .line: LineHarness.run(input)
        case .answer: AnswerHarness.run(input)
        case .storeAnswer: StoreAnswerHarness.run(input)
        case .configuration: ConfigurationHarness.run(input)
        case .text: TextHarness.run(input)
        case .process: ProcessHarness.run(input)
        case .reply: ReplyHarness.run(input)
        case .filter: FilterHarness.run(input)
        case .setAside: SetAsideHarness.run(input)
        case .spill: SpillHarness.run(input)
        case .planted: PlantedHarness.run(input)
        case .plantedGrowth: PlantedGrowthHarness.run(input)
        }
    }

    /// The maximum number of comparisons per byte of a large input, including those of the harness and its plain
    /// reader. The inputs of the corpus need less than 2,400. Redaction applies all rules to four copies of the text.
    var maxWorkPerByte: Double { 3000 }
}
