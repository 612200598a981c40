//! The rows of the table of methods, in the order of the reference.

use seriatim_types::limits::{ENTITY_KEY_BYTES_MAX, NAME_BYTES_MAX};

use super::parameter::{LIMIT_DEFAULT, LIMIT_MAX, WAIT_MS_MAX, from, whole};
use super::{Answer, AnswerBody, Message, Method, Parameter, RequestBody, Takes, Verb};
use crate::code::ErrorCode::{self, *};
use crate::message::{
    App, AppChange, Apps, ClientState, ClockAccepted, CommandDocument, Consistency, Declared,
    Defined, Definitions, Empty, Entity, Events, Head, InclusionProof, Live, NewApp, NewRecordKind,
    NewSequence, NewWorkspace, Partitions, Ready, Receipt, Record, Records, Restarted,
    SequenceState, Version,
};

/// The rows. Each makes a [`MethodId`] as well, so that a router can be made to have a handler for
/// every one of them.
macro_rules! methods {
    ($($(#[doc = $doc:literal])* $id:ident { $($field:tt)* })*) => {
        /// Which method of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each row of the table says what its method is")]
        pub enum MethodId {
            $($id,)*
        }

        impl MethodId {
            /// All of them, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$id),*];

            pub(super) const fn name(self) -> &'static str {
                match self { $(Self::$id => stringify!($id)),* }
            }
        }

        /// All methods.
        pub static METHODS: &[Method] = &[$(Method { id: MethodId::$id, $($field)* }),*];
    };
}

// Examples of messages. They belong together: one shop, whose till has issued an invoice.

const APP_EXAMPLE: &str = r#"{"name":"shop","partitions":4,"record_ids":"single","trust_level":0,"idempotency_retention":"24h","idempotency_keys_max":null}"#;
const APPS_EXAMPLE: &str = r#"{"apps":[{"name":"shop","partitions":4,"record_ids":"single","trust_level":0,"idempotency_retention":"24h","idempotency_keys_max":null}]}"#;
const SEQUENCE_EXAMPLE: &str = r#"{"kind":"default","ranges":[[1,999999]],"format":"INV-{yyyy}-{n:06}","reset":"yearly","utc_offset":"+01:00"}"#;
const DEFINITIONS_EXAMPLE: &str = r#"{"version":7,"kinds":[{"name":"default"}],"sequences":[{"name":"invoice","kind":"default","ranges":[[1,999999]],"format":"INV-{yyyy}-{n:06}","reset":"yearly","utc_offset":"+01:00"}],"records":[{"name":"invoice","class":"c","singleton":false}]}"#;
const DEFINED_EXAMPLE: &str = r#"{"version":7,"changed":true}"#;
const DECLARED_EXAMPLE: &str =
    r#"{"workspace":"store-1","workspace_id":1099511627778,"kind":"default","created":true}"#;
const COMMAND_EXAMPLE: &str = r#"{"events":[{"name":"InvoiceIssued","args":{"total":1250},"changes":[{"create":{"id":1,"kind":"invoice","fields":{"number":{"$next":"invoice","as":"text"},"lines":[{"$ref":2}]}}},{"create":{"id":2,"kind":"line","parent":1,"fields":{"sku":"A-7"}}},{"update":{"id":200017,"fields":{"open":false},"if_version":3}},{"delete":{"id":200018,"if_version":1}},{"set":{"key":"stock/A-7","value":{"left":4},"if":{"version":7},"expires_at":"2027-01-01T00:00:00.000Z"}},{"unset":{"key":"hold/9","if":"exists"}},{"draw":{"sequence":"ticket"}}]}],"if_offset":12}"#;
const RECEIPT_EXAMPLE: &str = r#"{"app":"shop","workspace":"store-1","workspace_id":1099511627778,"partition":2,"first_offset":13,"last_offset":13,"first_partition_offset":101,"last_partition_offset":101,"client_sequence":5,"ids":{"1":200019,"2":200020},"numbers":[{"sequence":"invoice","period":2026,"number":7,"text":"INV-2026-000007"},{"sequence":"ticket","number":31,"text":"31"}],"committed_at":"2026-11-15T12:00:00.000Z"}"#;
const EVENTS_EXAMPLE: &str = r#"{"events":[{"offset":13,"partition":2,"partition_offset":101,"workspace":"store-1","workspace_id":1099511627778,"name":"InvoiceIssued","args":{"total":1250},"changes":[{"create":{"id":200019,"kind":"invoice","fields":{"number":"INV-2026-000007"}}},{"set":{"key":"stock/A-7","version":8,"value":{"left":4}}},{"draw":{"sequence":"ticket","number":31,"text":"31"}}],"client":"pos-4","client_sequence":5,"key":"0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50","committed_at":"2026-11-15T12:00:00.000Z","hash":"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"}],"next":14,"last":13}"#;
const RECORD_EXAMPLE: &str = r#"{"id":200019,"kind":"invoice","class":"c","parent":0,"version":1,"fields":{"number":"INV-2026-000007"},"offset":13}"#;
const RECORDS_EXAMPLE: &str = r#"{"records":[{"id":200019,"kind":"invoice","class":"c","parent":0,"version":1,"fields":{"number":"INV-2026-000007"},"offset":13}],"next":null}"#;
const ENTITY_EXAMPLE: &str =
    r#"{"key":"stock/A-7","value":{"left":4},"version":8,"expires_at":null,"offset":13}"#;
const SEQUENCE_STATE_EXAMPLE: &str =
    r#"{"name":"invoice","period":2026,"last":7,"next":8,"next_text":"INV-2026-000008"}"#;
const CLIENT_EXAMPLE: &str = r#"{"client":"pos-4","last_client_sequence":5,"last_offset":13}"#;
const HEAD_EXAMPLE: &str = r#"{"workspace":"store-1","size":2,"root":"b137985ff484fb600db93107c77b0365c80d78f5b429ded0fd97361d077999eb"}"#;
const PROOF_EXAMPLE: &str = r#"{"offset":1,"size":2,"leaf":"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d","path":["96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"],"root":"b137985ff484fb600db93107c77b0365c80d78f5b429ded0fd97361d077999eb"}"#;
const CONSISTENCY_EXAMPLE: &str = r#"{"from":1,"to":2,"path":["96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"],"from_root":"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d","to_root":"b137985ff484fb600db93107c77b0365c80d78f5b429ded0fd97361d077999eb"}"#;
const PARTITIONS_EXAMPLE: &str = r#"{"partitions":[{"app":"shop","partition":0,"state":"serving","done":0,"total":0,"reason":null}]}"#;
const READY_EXAMPLE: &str = r#"{"ready":true,"partitions":[{"app":"shop","partition":0,"state":"serving","done":0,"total":0,"reason":null}]}"#;
const NOT_READY_EXAMPLE: &str = r#"{"ready":false,"partitions":[{"app":"shop","partition":0,"state":"actualizing","done":5000,"total":20000,"reason":null}]}"#;

// Parameters.

const NAME: Takes = Takes::Text { bytes_max: NAME_BYTES_MAX };
const KEY: Takes = Takes::Text { bytes_max: ENTITY_KEY_BYTES_MAX };

const IN_APP: Parameter =
    Parameter::required("app", Takes::App).about("The name of an app.").example("shop");
const IN_WORKSPACE: Parameter = Parameter::required("ws", Takes::Workspace)
    .called("workspace")
    .about("A workspace: its name, or its id. Digits alone are an id: below 2^40, without leading zeros.")
    .example("store-1");
const IN_PARTITION: Parameter =
    Parameter::required("p", Takes::Whole { min: 0, max: 65_535, default: None })
        .called("partition")
        .about("A partition, from 0 on.")
        .example("0");
const CLIENT: Parameter = Parameter::required("client", Takes::Client)
    .about("A client: any text without control characters.")
    .example("pos-4");
const FROM: Parameter =
    Parameter::optional("from", whole(0, MAX, 1)).about("Where to begin.").example("1");
const LIMIT: Parameter = Parameter::optional("limit", whole(1, LIMIT_MAX, LIMIT_DEFAULT))
    .about("How many at most.")
    .example("100");
const MIN_OFFSET: Parameter = Parameter::optional("min_offset", whole(0, MAX, 0))
    .about("Waits until the log has this offset, or answers NOT_YET.")
    .example("13");
const WAIT_MS: Parameter =
    Parameter::optional("wait_ms", Takes::Whole { min: 0, max: WAIT_MS_MAX, default: None })
        .about("How long to wait for `min_offset`: 5000 unless given.")
        .example("1000");
const WAIT_MS_OF_LIST: Parameter = WAIT_MS.about(
    "How long to wait for `min_offset`, 5000 unless given, and for the first event, 0 unless given.",
);
const IDEMPOTENCY_KEY: Parameter = Parameter::required("Idempotency-Key", Takes::Uuid)
    .about("By which a repetition is known: a UUID in any case, not the nil one.")
    .example("0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50");
const CLIENT_ID: Parameter = Parameter { name: "Client-Id", field: "Client-Id", ..CLIENT };
const DEADLINE: Parameter = Parameter::optional("Deadline", Takes::Moment)
    .about("After this time the command is not carried out.")
    .example("2030-01-01T00:00:00Z");
const LAST_EVENT_ID: Parameter = Parameter::optional("Last-Event-ID", from(0))
    .about("Of a log that is followed: the last event that the client has seen.")
    .example("12");
const REPLAYED: Parameter = Parameter::required("Idempotent-Replayed", Takes::Flag)
    .about("Whether the same command was carried out before. The body has the same bytes then.")
    .example("false");

const MAX: u64 = seriatim_types::NUMBER_MAX;

// What requests can be refused for, in groups. A method has the groups of what it does.

const EVERY: &[ErrorCode] = &[InvalidArgument, PermissionDenied];
/// Whatever takes a body.
const BODY: &[ErrorCode] = &[TooLarge, RateLimited, DeadlineExceeded];
/// Whatever a partition is asked for.
const SERVING: &[ErrorCode] = &[Busy, PartitionStopped];
/// Whatever reserves memory.
const MEMORY: &[ErrorCode] = &[RateLimited];
const OF_APP: &[ErrorCode] = &[AppNotFound];
/// Whatever waits for something to be written.
const WRITTEN: &[ErrorCode] = &[OutcomeUnknown, DeadlineExceeded];
const DEFINING: &[ErrorCode] = &[DefinitionConflict];
const OF_WORKSPACE: &[ErrorCode] = &[AppNotFound, NotFound, NotYet];
const COMMAND: &[ErrorCode] = &[
    UnknownSequence,
    UnknownKind,
    AppNotFound,
    NotFound,
    RecordNotFound,
    RecordExists,
    SingletonExists,
    SequenceExhausted,
    KeyExists,
    KeyNotFound,
    VersionMismatch,
    ValueMismatch,
    OffsetMismatch,
    IdempotencyKeyReused,
    KeyWindowFull,
];

const fn ok(about: &'static str, message: Message) -> Answer {
    Answer { status: 200, about, body: AnswerBody::Json(message), headers: &[] }
}

const fn required(message: Message) -> Option<RequestBody> {
    Some(RequestBody { is_required: true, message })
}

/// A body that may be left out.
const fn optional(message: Message) -> Option<RequestBody> {
    Some(RequestBody { is_required: false, message })
}

methods! {
    CreateApp {
        verb: Verb::Post,
        path: "/v1/apps",
        summary: "Makes an app. The same app again is no error.",
        about: "What the body leaves out is the server's default for a new app. Of an app that exists only \
                what is named is compared, except `idempotency_keys_max`.",
        writes: true,
        streams: false,
        parts: &[],
        query: &[],
        headers: &[],
        request: required(Message::of::<NewApp>(APP_EXAMPLE)),
        answers: &[
            ok("There is the same app already.", Message::of::<App>(APP_EXAMPLE)),
            Answer { status: 201, ..ok("It was made.", Message::of::<App>(APP_EXAMPLE)) },
        ],
        errors: &[EVERY, BODY, SERVING, WRITTEN, &[AppExists, SequenceExhausted]],
    }
    ListApps {
        verb: Verb::Get,
        path: "/v1/apps",
        summary: "All apps.",
        about: "",
        writes: false,
        streams: false,
        parts: &[],
        query: &[],
        headers: &[],
        request: None,
        answers: &[ok("The apps.", Message::of::<Apps>(APPS_EXAMPLE))],
        errors: &[EVERY, MEMORY, SERVING],
    }
    GetApp {
        verb: Verb::Get,
        path: "/v1/apps/{app}",
        summary: "One app.",
        about: "",
        writes: false,
        streams: false,
        parts: &[IN_APP],
        query: &[],
        headers: &[],
        request: None,
        answers: &[ok("The app.", Message::of::<App>(APP_EXAMPLE))],
        errors: &[EVERY, OF_APP, MEMORY, SERVING],
    }
    ChangeApp {
        verb: Verb::Patch,
        path: "/v1/apps/{app}",
        summary: "Changes the limit of idempotency keys, at any time. Answered once all partitions have it.",
        about: "Nothing else of an app can change. `null` removes the limit.",
        writes: true,
        streams: false,
        parts: &[IN_APP],
        query: &[],
        headers: &[],
        request: required(Message::of::<AppChange>(r#"{"idempotency_keys_max":null}"#)),
        answers: &[ok("The app.", Message::of::<App>(APP_EXAMPLE))],
        errors: &[EVERY, BODY, OF_APP, SERVING, WRITTEN],
    }
    GetDefinitions {
        verb: Verb::Get,
        path: "/v1/apps/{app}/definitions",
        summary: "Everything that is defined for an app.",
        about: "",
        writes: false,
        streams: false,
        parts: &[IN_APP],
        query: &[],
        headers: &[],
        request: None,
        answers: &[ok("The definitions.", Message::of::<Definitions>(DEFINITIONS_EXAMPLE))],
        errors: &[EVERY, OF_APP, MEMORY, SERVING],
    }
    DefineKind {
        verb: Verb::Put,
        path: "/v1/apps/{app}/kinds/{name}",
        summary: "Defines a kind of workspaces. Answered once all partitions have it.",
        about: "`default` always exists. Defining the same again changes nothing.",
        writes: true,
        streams: false,
        parts: &[IN_APP, Parameter::required("name", NAME).about("The name of the kind.").example("store")],
        query: &[],
        headers: &[],
        request: required(Message::of::<Empty>("{}")),
        answers: &[ok("It holds in all partitions.", Message::of::<Defined>(DEFINED_EXAMPLE))],
        errors: &[EVERY, BODY, OF_APP, SERVING, WRITTEN, DEFINING],
    }
    DefineSequence {
        verb: Verb::Put,
        path: "/v1/apps/{app}/sequences/{name}",
        summary: "Defines a sequence. Only its format may change later.",
        about: "Answered once all partitions have it.",
        writes: true,
        streams: false,
        parts: &[IN_APP, Parameter::required("name", NAME).about("The name of the sequence.").example("invoice")],
        query: &[],
        headers: &[],
        request: required(Message::of::<NewSequence>(SEQUENCE_EXAMPLE)),
        answers: &[ok("It holds in all partitions.", Message::of::<Defined>(DEFINED_EXAMPLE))],
        errors: &[EVERY, BODY, OF_APP, SERVING, WRITTEN, DEFINING, &[UnknownKind]],
    }
    DefineRecord {
        verb: Verb::Put,
        path: "/v1/apps/{app}/records/{name}",
        summary: "Defines a kind of records.",
        about: "Answered once all partitions have it.",
        writes: true,
        streams: false,
        parts: &[IN_APP, Parameter::required("name", NAME).about("The name of the kind.").example("invoice")],
        query: &[],
        headers: &[],
        request: required(Message::of::<NewRecordKind>(r#"{"class":"c","singleton":false}"#)),
        answers: &[ok("It holds in all partitions.", Message::of::<Defined>(DEFINED_EXAMPLE))],
        errors: &[EVERY, BODY, OF_APP, SERVING, WRITTEN, DEFINING],
    }
    ListPartitionEvents {
        verb: Verb::Get,
        path: "/v1/apps/{app}/partitions/{p}/events",
        summary: "Events of a partition, in a list or as they come.",
        about: "",
        writes: false,
        streams: true,
        parts: &[IN_APP, IN_PARTITION],
        query: &[FROM, LIMIT, WAIT_MS_OF_LIST, MIN_OFFSET],
        headers: &[LAST_EVENT_ID],
        request: None,
        answers: &[ok(
            "The events. Who accepts `text/event-stream` follows the log.",
            Message::of::<Events>(EVENTS_EXAMPLE),
        )],
        errors: &[EVERY, OF_WORKSPACE, MEMORY, SERVING, &[Lagged]],
    }
    DeclareWorkspace {
        verb: Verb::Put,
        path: "/v1/apps/{app}/workspaces/{ws}",
        summary: "Settles the kind of a workspace. Only needed for another kind than `default`.",
        about: "",
        writes: true,
        streams: false,
        parts: &[IN_APP, IN_WORKSPACE],
        query: &[],
        headers: &[],
        request: required(Message::of::<NewWorkspace>(r#"{"kind":"default"}"#)),
        answers: &[ok("The workspace has the kind.", Message::of::<Declared>(DECLARED_EXAMPLE))],
        errors: &[
            EVERY,
            BODY,
            OF_APP,
            SERVING,
            WRITTEN,
            &[UnknownKind, NotFound, KindConflict, SequenceExhausted],
        ],
    }
    Submit {
        verb: Verb::Post,
        path: "/v1/apps/{app}/workspaces/{ws}/commands",
        summary: "Carries out a command, exactly once for each key.",
        about: "All of it takes effect, or nothing does.",
        writes: true,
        streams: false,
        parts: &[IN_APP, IN_WORKSPACE],
        query: &[],
        headers: &[IDEMPOTENCY_KEY, CLIENT_ID, DEADLINE],
        request: required(Message::of::<CommandDocument>(COMMAND_EXAMPLE)),
        answers: &[Answer {
            headers: &[REPLAYED],
            ..ok("The receipt: of now, or of the first time.", Message::of::<Receipt>(RECEIPT_EXAMPLE))
        }],
        errors: &[EVERY, BODY, SERVING, WRITTEN, COMMAND],
    }
    ListEvents {
        verb: Verb::Get,
        path: "/v1/apps/{app}/workspaces/{ws}/events",
        summary: "Events of a workspace, in a list or as they come.",
        about: "",
        writes: false,
        streams: true,
        parts: &[IN_APP, IN_WORKSPACE],
        query: &[FROM, LIMIT, WAIT_MS_OF_LIST, MIN_OFFSET],
        headers: &[LAST_EVENT_ID],
        request: None,
        answers: &[ok(
            "The events. Who accepts `text/event-stream` follows the log.",
            Message::of::<Events>(EVENTS_EXAMPLE),
        )],
        errors: &[EVERY, OF_WORKSPACE, MEMORY, SERVING, &[Lagged]],
    }
    ListRecords {
        verb: Verb::Get,
        path: "/v1/apps/{app}/workspaces/{ws}/records",
        summary: "Records of a kind of class c, by their ids.",
        about: "",
        writes: false,
        streams: false,
        parts: &[IN_APP, IN_WORKSPACE],
        query: &[
            Parameter::required("kind", NAME).about("A kind of records.").example("invoice"),
            FROM.about("The id to begin with."),
            LIMIT,
            MIN_OFFSET,
            WAIT_MS,
        ],
        headers: &[],
        request: None,
        answers: &[ok("The records.", Message::of::<Records>(RECORDS_EXAMPLE))],
        errors: &[EVERY, OF_WORKSPACE, MEMORY, SERVING, &[UnknownKind]],
    }
    GetRecord {
        verb: Verb::Get,
        path: "/v1/apps/{app}/workspaces/{ws}/records/{id}",
        summary: "One record.",
        about: "",
        writes: false,
        streams: false,
        parts: &[
            IN_APP,
            IN_WORKSPACE,
            Parameter::required("id", from(1)).about("The id of a record.").example("200019"),
        ],
        query: &[MIN_OFFSET, WAIT_MS],
        headers: &[],
        request: None,
        answers: &[ok("The record.", Message::of::<Record>(RECORD_EXAMPLE))],
        errors: &[EVERY, OF_WORKSPACE, MEMORY, SERVING, &[RecordNotFound]],
    }
    GetEntity {
        verb: Verb::Get,
        path: "/v1/apps/{app}/workspaces/{ws}/entities/{*key}",
        summary: "One entity. Its key may hold slashes.",
        about: "",
        writes: false,
        streams: false,
        parts: &[
            IN_APP,
            IN_WORKSPACE,
            Parameter::required("key", KEY).about("The key of an entity.").example("stock/A-7"),
        ],
        query: &[MIN_OFFSET, WAIT_MS],
        headers: &[],
        request: None,
        answers: &[ok("The entity.", Message::of::<Entity>(ENTITY_EXAMPLE))],
        errors: &[EVERY, OF_WORKSPACE, MEMORY, SERVING],
    }
    GetSequence {
        verb: Verb::Get,
        path: "/v1/apps/{app}/workspaces/{ws}/sequences/{name}",
        summary: "Where a sequence stands.",
        about: "",
        writes: false,
        streams: false,
        parts: &[
            IN_APP,
            IN_WORKSPACE,
            Parameter::required("name", NAME).about("The name of the sequence.").example("invoice"),
        ],
        query: &[
            Parameter::optional("period", Takes::Whole { min: 1, max: 9999, default: None })
                .about("The year of a yearly sequence: the present one unless given.")
                .example("2026"),
            MIN_OFFSET,
            WAIT_MS,
        ],
        headers: &[],
        request: None,
        answers: &[ok("The sequence.", Message::of::<SequenceState>(SEQUENCE_STATE_EXAMPLE))],
        errors: &[EVERY, OF_WORKSPACE, MEMORY, SERVING],
    }
    GetClient {
        verb: Verb::Get,
        path: "/v1/apps/{app}/workspaces/{ws}/clients/{client}",
        summary: "Where a client stands.",
        about: "",
        writes: false,
        streams: false,
        parts: &[IN_APP, IN_WORKSPACE, CLIENT],
        query: &[MIN_OFFSET, WAIT_MS],
        headers: &[],
        request: None,
        answers: &[ok("The client.", Message::of::<ClientState>(CLIENT_EXAMPLE))],
        errors: &[EVERY, OF_WORKSPACE, MEMORY, SERVING],
    }
    GetReceipt {
        verb: Verb::Get,
        path: "/v1/apps/{app}/workspaces/{ws}/receipts/{client}/{key}",
        summary: "The receipt that a key has earned.",
        about: "",
        writes: false,
        streams: false,
        parts: &[
            IN_APP,
            IN_WORKSPACE,
            CLIENT,
            Parameter::required("key", Takes::Uuid)
                .about("An idempotency key.")
                .example("0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50"),
        ],
        query: &[MIN_OFFSET, WAIT_MS],
        headers: &[],
        request: None,
        answers: &[ok("The receipt.", Message::of::<Receipt>(RECEIPT_EXAMPLE))],
        errors: &[EVERY, OF_WORKSPACE, MEMORY, SERVING],
    }
    GetHead {
        verb: Verb::Get,
        path: "/v1/apps/{app}/workspaces/{ws}/head",
        summary: "The size and the root of the tree over the log.",
        about: "",
        writes: false,
        streams: false,
        parts: &[IN_APP, IN_WORKSPACE],
        query: &[MIN_OFFSET, WAIT_MS],
        headers: &[],
        request: None,
        answers: &[ok("The head.", Message::of::<Head>(HEAD_EXAMPLE))],
        errors: &[EVERY, OF_WORKSPACE, MEMORY, SERVING],
    }
    GetProof {
        verb: Verb::Get,
        path: "/v1/apps/{app}/workspaces/{ws}/proofs/{offset}",
        summary: "That an event is in the log (RFC 6962).",
        about: "",
        writes: false,
        streams: false,
        parts: &[
            IN_APP,
            IN_WORKSPACE,
            Parameter::required("offset", from(1)).about("An event of the workspace.").example("1"),
        ],
        query: &[
            Parameter::optional("size", from(0))
                .about("The size of the tree that the proof is for: the present one unless given.")
                .example("2"),
            MIN_OFFSET,
            WAIT_MS,
        ],
        headers: &[],
        request: None,
        answers: &[ok("The proof.", Message::of::<InclusionProof>(PROOF_EXAMPLE))],
        errors: &[EVERY, OF_WORKSPACE, MEMORY, SERVING],
    }
    GetConsistency {
        verb: Verb::Get,
        path: "/v1/apps/{app}/workspaces/{ws}/consistency",
        summary: "That the log only grew (RFC 6962).",
        about: "",
        writes: false,
        streams: false,
        parts: &[IN_APP, IN_WORKSPACE],
        query: &[
            Parameter::required("from", from(0)).about("The size before.").example("1"),
            Parameter::optional("to", from(0))
                .about("The size after: the present one unless given.")
                .example("2"),
            MIN_OFFSET,
            WAIT_MS,
        ],
        headers: &[],
        request: None,
        answers: &[ok("The proof.", Message::of::<Consistency>(CONSISTENCY_EXAMPLE))],
        errors: &[EVERY, OF_WORKSPACE, MEMORY, SERVING],
    }
    ListPartitions {
        verb: Verb::Get,
        path: "/v1/partitions",
        summary: "All partitions, with what they are doing.",
        about: "",
        writes: false,
        streams: false,
        parts: &[],
        query: &[],
        headers: &[],
        request: None,
        answers: &[ok("The partitions.", Message::of::<Partitions>(PARTITIONS_EXAMPLE))],
        errors: &[EVERY, SERVING],
    }
    RestartPartition {
        verb: Verb::Post,
        path: "/v1/partitions/{app}/{p}/restart",
        summary: "Lets a partition read its log again, behind the answer.",
        about: "`/readyz` says when it has. It writes nothing, and may be asked for again.",
        writes: false,
        streams: false,
        parts: &[IN_APP, IN_PARTITION],
        query: &[],
        headers: &[],
        request: None,
        answers: &[Answer {
            status: 202,
            ..ok("It was told to.", Message::of::<Restarted>(r#"{"app":"shop","partition":0}"#))
        }],
        errors: &[EVERY, OF_APP, MEMORY, SERVING, &[NotFound]],
    }
    AcceptClock {
        verb: Verb::Post,
        path: "/v1/clock/accept",
        summary: "Believes a clock that is further ahead than it may be by itself.",
        about: "For an operator who has looked at the clock: BUSY with the reason `clock` has its time.",
        writes: true,
        streams: false,
        parts: &[],
        query: &[],
        headers: &[],
        request: optional(Message::of::<Empty>("{}")),
        answers: &[ok(
            "It is believed.",
            Message::of::<ClockAccepted>(r#"{"time":"2026-11-15T12:00:00.000Z"}"#),
        )],
        errors: &[EVERY, BODY, &[Busy]],
    }
    Live {
        verb: Verb::Get,
        path: "/livez",
        summary: "That the process answers.",
        about: "",
        writes: false,
        streams: false,
        parts: &[],
        query: &[],
        headers: &[],
        request: None,
        answers: &[ok("It does.", Message::of::<Live>(r#"{"live":true}"#))],
        errors: &[EVERY],
    }
    Ready {
        verb: Verb::Get,
        path: "/readyz",
        summary: "Whether every partition takes commands, and the disk answers.",
        about: "",
        writes: false,
        streams: false,
        parts: &[],
        query: &[],
        headers: &[],
        request: None,
        answers: &[
            ok("All of them do.", Message::of::<Ready>(READY_EXAMPLE)),
            Answer { status: 503, ..ok("Not all of them do.", Message::of::<Ready>(NOT_READY_EXAMPLE)) },
        ],
        errors: &[EVERY, SERVING],
    }
    Version {
        verb: Verb::Get,
        path: "/version",
        summary: "What is running.",
        about: "",
        writes: false,
        streams: false,
        parts: &[],
        query: &[],
        headers: &[],
        request: None,
        answers: &[ok(
            "The version.",
            Message::of::<Version>(r#"{"name":"seriatim","version":"0.1.0"}"#),
        )],
        errors: &[EVERY],
    }
    Metrics {
        verb: Verb::Get,
        path: "/metrics",
        summary: "What the server counts.",
        about: "",
        writes: false,
        streams: false,
        parts: &[],
        query: &[],
        headers: &[],
        request: None,
        answers: &[Answer {
            status: 200,
            about: "OpenMetrics text.",
            body: AnswerBody::Text("application/openmetrics-text"),
            headers: &[],
        }],
        errors: &[EVERY],
    }
    Openapi {
        verb: Verb::Get,
        path: "/openapi.json",
        summary: "This document.",
        about: "",
        writes: false,
        streams: false,
        parts: &[],
        query: &[],
        headers: &[],
        request: None,
        answers: &[Answer {
            status: 200,
            about: "OpenAPI 3.1.",
            body: AnswerBody::OpenApi,
            headers: &[],
        }],
        errors: &[EVERY],
    }
    ErrorPage {
        verb: Verb::Get,
        path: "/errors/{code}",
        summary: "The page about an error code, in Markdown.",
        about: "It is what `help` of an error leads to.",
        writes: false,
        streams: false,
        parts: &[Parameter::required("code", NAME).about("A code.").example("BUSY")],
        query: &[],
        headers: &[],
        request: None,
        answers: &[Answer {
            status: 200,
            about: "The page.",
            body: AnswerBody::Text("text/markdown"),
            headers: &[],
        }],
        errors: &[EVERY, &[NotFound]],
    }
}
