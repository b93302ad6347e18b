"""The English of the offline planner: cues for what is requested, operators, harmless words.

All words have the form of `vocabulary.plain`: lower case, singular.
"""

from __future__ import annotations

import re
from typing import Literal

Cue = Literal[
    "explain",
    "drill",
    "rows",
    "swap",
    "more",
    "missing",
    "only",
    "major",
    "minor",
    "match",
    "list",
    "describe",
    "compare",
    "again",
    "additionally",
    "most",
    "least",
    "how much",
    "gaps",
]
SpokenOperator = Literal["eq", "ne", "gte", "gt", "lte", "lt", "between"]

_GAP = r"(?:gap|difference|deviation|discrepanc|mismatch|variance|delta|divergence|offset)\w*"

_PATTERNS: dict[Cue, str] = {
    "swap": r"(?:the |do it )?other way (?:a)?round|vice versa|\brevers(?:e|ed)\b"
    r"|\bswap(?:ped)?\b(?: them| the sources| sides| the sides)?|\bopposite direction"
    r"|\bswitch (?:the )?(?:sides|sources|order)|\bturn (?:it|this|that|them) a?round",
    "explain": r"\bwhy\b|\bhow come\b|\bexplain(?:s|ed|ing)?\b|\bexplanation|\breasons?\b"
    r"|\b(?:root )?caus(?:e|es|ed|ing)\b|\b(?:com(?:e|es|ing)|came|stem(?:s|ming)?"
    r"|aris(?:e|es|ing)|originat(?:e|es|ing)|result(?:s|ing)?) from\b"
    r"|\bdriv(?:es?|ing|ers?|en)\b|\b(?:what|which \w+|that) accounts? for\b"
    r"|\bdue to\b|\bresponsible for\b|\bcontribut\w+"
    rf"|\bbehind (?:it|this|that|(?:the|this|that) (?:\w+ )?{_GAP})(?= *\W*$)"
    rf"|\bbreak(?:s|ing)? (?:it|this|that|(?:the|this|that) {_GAP})(?: \w+)? down\b"
    rf"|\bbreak(?:s|ing)? down (?:it|this|that|(?:the|this|that) {_GAP})",
    "drill": r"\bdrill(?:ing|ed)?\b(?:[ -]down| in)*(?: into| to| through)?|\bzoom(?: in)?"
    r"(?: into| on)?\b|\bdig(?: deeper| down)?(?: into)?\b|\bbehind\b|\bunderl(?:ie|ying)\b"
    r"|\bunderneath\b|\b(?:make|makes|making|made) (?:it |this |that )?up\b(?: of)?"
    r"|\bdetails?\b|\bindividual\b|\bsingle\b",
    "rows": r"\b(?:rows?|lines?|line items?|records?|entr(?:y|ies)|transactions?|vouchers?"
    r"|postings?|bookings?|documents?|items?)\b",
    "missing": r"\bmissing\b|\babsent\b|\black(?:s|ing)?\b|\bunmatched\b"
    r"|\b(?:not|did not|does not|do not|never) (?:exist(?:s|ed)?|appear(?:s|ed)?|arrive[sd]?"
    r"|found|present|there|loaded|make it|made it)(?: in(?:to)?)?\b|\bnot (?=in\b)"
    r"|\bwithout (?:a |an |any )?(?:counterpart|partner)s?",
    "only": r"\bonly (?:exist(?:s|ing)? |appear(?:s|ing)? |there |present |found |be )?(?=in\b)"
    r"|\b(?:exist(?:s|ing)?|appear(?:s|ing)?|found|present|are|is) (?:only )?in \w+ (?:\w+ )?only\b"
    r"|\b(?:exist(?:s|ing)?|appear(?:s|ing)?|found|present) only (?=in\b)",
    "major": r"\bmajor\b|\bserious\b|\bsevere\b|\bsignificant\b|\bsubstantial\b|\bmaterial\b"
    r"|\bimportant\b",
    "minor": r"\bminor\b|\bslight\b|\btiny\b|\bnegligible\b|\brounding\b",
    "match": r"\bmatch(?:ed|ing)\b|\bidentical\b|\bequal\b",
    "more": r"\bnext (?:page|ones?)\b|\bmore of (?:them|these|those)\b|\b(?:some|show) more\b"
    r"|\bfurther ones\b|\bthe (?:rest|remaining|others)\b",
    "list": r"\b(?:which|what|list|show|available|all|name|display|see|know)\b(?: \w+){0,4}?"
    r" (?:data )?(?:sources?|systems?|data ?sets?|databases?|tables?)\b"
    r"|^(?:data )?sources\b|\bwhat (?:\w+ )?(?:can|could|may) (?:i|you|we|one)\b"
    r"(?: \w+)? (?:ask|do|compare|query|know|answer|analy[sz]e|look at)\b"
    r"|\bwhat (?:data )?(?:do|have) you (?:know|have|got|offer|cover|hold)\b"
    r"|\bwhat (?:data )?is (?:there|available)\b(?: to \w+)?|^help\b|\bwhat data\b",
    "describe": r"\bdescri(?:be|bes|ption)\b|\bwhat(?:['\u2019]s| is) in\b(?! which)"
    r"|\bwhat (?:does|do|can|is|are)\b[^?]* (?:contain|hold|offer|include|consist|about)\w*"
    r"|\b(?:which|what) (?:are the )?(?:\w+ and )?(?:dimension|measure|column|field"
    r"|attribute)s?(?: and \w+)?\b|\b(?:structure|schema|layout|content|metadata"
    r"|field|column|dimension|measure)s?\b(?: of| does)?"
    r"|\btell (?:me|us) (?:more |something )?about\b"
    r"|\bwhat kind of data\b|\b(?:details|more) (?:about|of|on)\b",
    "compare": r"\bcompar(?:e|es|ed|ing|ison|isons)\b|\breconcil\w+|\bagainst\b|\bversus\b"
    r"|\bvs\b\.?|\bcontrast\w*|\b(?:tie|ties|tying)(?: out| up)?\b|\bline[sd]? up\b"
    r"|\bagree[sd]?\b|\bmatch(?:es)?\b|\bin (?:sync|line)\b|\bconsistent\w*|\bdiff(?:s|ers?)?\b"
    rf"|\bdifferent(?:ly)?\b|\b{_GAP}|\bdeviat(?:e|es|ing)\b|\bdiverge[sd]?\b|\boff(?: from)?\b"
    r"|\bnext to\b|\bthe same (?:as|in|on)\b|\bcross-?check\w*|\bfit(?:s)?\b|\balign(?:s|ed)?\b"
    r"|\bdisagree\w*|\bcoincide\w*|\bcorrespond\w*",
    "again": r"\bsame\b|\bagain\b|\binstead\b|\brepeat\b|\bwhat about\b|\bhow about\b|^and\b"
    r"|^now\b|^(?:but |so )?only\b|^just\b|^then\b|^also\b|^ok(?:ay)?\b|\bredo\b|\brerun\b",
    "gaps": r"\b(?:differences|deviations|discrepancies|mismatches|variances|gaps)\b",
    "how much": r"\bhow (?:much|far|big|large)\b",
    "additionally": r"\badditionally\b|\bin addition\b|\bas well\b|\btoo\b|\bfurther (?=by\b)",
    "most": r"\b(?:top|largest|biggest|highest|greatest|most|worst|maximal|main)\b",
    "least": r"\b(?:smallest|lowest|least|fewest|bottom)\b",
}
CUES: dict[Cue, re.Pattern[str]] = {cue: re.compile(pattern) for cue, pattern in _PATTERNS.items()}

# Says "explain" with words that may be names: "which members account for it".
BEFORE_NAMES = re.compile(r"\b(?:what|which \w+|that) accounts? for\b")
# A phrase that says how the value behind it is meant.
OPERATORS: dict[str, SpokenOperator] = {
    **dict.fromkeys(("=", "is", "equal", "equal to"), "eq"),
    **dict.fromkeys(
        (
            *("except", "except for", "excluding", "exclude", "without", "not", "not in", "<>"),
            *("other than", "apart from", "aside from", "but not", "leaving out", "leave out"),
            *("omit", "omitting", "ignoring", "ignore", "skip", "skipping", "!=", "≠", "beside"),
            *("everything but", "all but", "minu", "save for", "with the exception of", "is not"),
            *("not for", "not including", "drop"),
        ),
        "ne",
    ),
    **dict.fromkeys(
        (
            *("from", "since", "starting", "starting from", "starting in", "starting with", ">="),
            *("beginning", "beginning in", "beginning with", "at least", "≥", "no earlier than"),
            *("not before", "as from", "from and including"),
        ),
        "gte",
    ),
    **dict.fromkeys(("after", "later than", "newer than", "beyond", ">", "following"), "gt"),
    **dict.fromkeys(
        (
            *("until", "till", "up to", "up until", "through", "no later than", "not after"),
            *("at most", "<=", "≤", "up to and including", "ending", "ending in", "ending with"),
        ),
        "lte",
    ),
    **dict.fromkeys(("before", "earlier than", "older than", "prior to", "<"), "lt"),
    **dict.fromkeys(("between",), "between"),
}
# A phrase behind a value that says the same.
AFTERWARDS: dict[str, SpokenOperator] = {
    **dict.fromkeys(
        ("onward", "on", "and later", "or later", "and after", "and following", "and onward"),
        "gte",
    ),
    **dict.fromkeys(("and earlier", "or earlier", "and before"), "lte"),
}
# Operators that say nothing where no value follows: "from fi_reporting".
WEAK = {"from", "is", "through", "equal", "equal to", "=", "between", "following", "to"}
RANGES = {"to", "through", "thru", "until", "till", "up to", "up until", "-", "and including"}
JOINING = {"and", "or", "&", "nor", "plus", "as well as"}
ARTICLES = {
    *("number", "a", "an", "the", "of", "our", "my", "their", "its", "all", "single", "individual"),
}
BREAKDOWNS = {"by", "per", "each", "every", "across", "along", "on", "along with"}
BROKEN = {"level", "wise", "basi", "granularity"}
PERIODIC = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    **dict.fromkeys(("yearly", "annually", "annual"), "year"),
}
ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4}
ALL = {"all", "every", "any"}

# Words that ask, and say nothing of what is asked; the words before them are not part of it.
ASIDE = {"is", "are", "do", "doe", "did", "has", "have", "was", "like", "need", "know", "want"}
REQUESTS = ASIDE | {
    *("what", "which", "where", "how", "why", "compare", "reconcile", "contrast", "drill"),
    *("explain", "describe"),
    *("show", "see", "tell", "give", "list", "get", "find", "display", "present", "print"),
    *("look", "check", "query", "calculate", "compute", "determine", "verify", "examine", "let"),
    *("pull", "fetch", "return", "provide", "want", "need", "like", "know", "put"),
    *("analyse", "analyze", "inspect", "investigate", "review", "validate", "test", "run", "make"),
    *("figure", "summarise", "summarize", "retrieve", "view", "read", "work", "perform"),
    *("evaluate", "assess", "take"),
}
# Words that carry a question without changing what it asks for.
HARMLESS = REQUESTS | {
    *("a", "an", "the", "this", "that", "these", "those", "there", "it", "they", "them", "here"),
    *("i", "me", "my", "mine", "we", "us", "our", "you", "your", "their", "its", "myself", "be"),
    *("were", "been", "being", "can", "could", "would", "should", "shall", "may", "might"),
    *("having", "doing", "going", "got", "had", "gonna", "wanna", "gimme", "lemme", "please"),
    *("pl", "plz", "kindly", "say", "think", "wonder", "wondering", "understand", "hello", "hi"),
    *("hey", "thank", "thanks", "cheers", "ok", "okay", "well", "yes", "right", "much", "many"),
    *("far", "if", "so", "then", "and", "or", "as", "at", "in", "on", "of", "to", "for", "from"),
    *("with", "between", "by", "per", "across", "each", "every", "into", "onto", "about"),
    *("regarding", "concerning", "over", "within", "around", "term", "out", "up", "down", "all"),
    *("any", "both", "whole", "entire", "full", "overall", "complete", "altogether", "data"),
    *("figure", "number", "value", "total", "sum", "result", "information", "info", "source"),
    *("system", "side", "available", "key", "group", "but", "other", "whether", "also", "just"),
    *("now", "again", "instead", "same", "only", "one", "broken", "break", "split", "grouped"),
    *("divided", "separated", "separately", "cut", "sorted", "ordered", "sort", "ranked", "rank"),
    *("aligned", "listed", "shown", "quick", "brief", "short", "simple", "detailed", "exact"),
    *("precise", "clear", "nice", "good", "bit", "little", "moment", "second", "overview"),
    *("summary", "summarised", "breakdown", "exist", "appear", "stand", "sit", "contain", "hold"),
    *("recorded", "booked", "posted", "come", "according", "based", "restricted", "limited"),
    *("limit", "filtered", "filter", "narrow", "considering", "looking", "using", "use"),
    *("taking", "given", "specifically", "namely", "case", "matter", "thing", "stuff"),
    *("everything", "anything", "something", "ones", "else", "came", "treat", "treated"),
    *("consider", "regard", "assume", "lot", "advance", "went", "happened", "when", "while"),
    *("since", "because", "though", "even", "still", "yet", "question", "answer", "help", "try"),
    *("trying", "start", "go", "ahead", "keep", "really", "actually", "maybe", "perhaps"),
    *("quite", "very", "too", "rather", "somehow", "today", "urgently", "asap", "some", "add"),
    *("adds", "amounting", "code", "id", "nr", "reported", "registered", "loaded", "stored"),
    *("found", "%", "€", "$", "euro", "eur", "usd", "dollar", "cent", "difference", "pair"),
    *("set", "sell", "sold", "generate", "generated", "earn", "earned", "employ", "employed"),
    *("work", "working", "place", "placed", "ship", "shipped", "made", "look", "more", "closer"),
    *("deeper", "further", "together", "apart", "exactly", "ask", "asking", "said", "mentioned"),
    *("comparison", "query", "call", "picture", "situation", "quiet", "show me", "behave"),
    *("develop", "vary", "distributed", "spread", "descending", "ascending", "desc", "asc"),
    *("first", "third", "fourth", "fifth", "bring", "turn", "onward", "onwards", "concerned"),
    *("affected", "relevant", "interested", "interesting"),
}
# These change a question whatever stands around them.
CHANGING = {
    *("not", "no", "never", "none", "neither", "nor", "without", "except", "excluding", "exclude"),
    *("who", "whose", "whom", "will", "next", "happen", "soon"),
    *("unless", "minu", "opposite", "instead of", "ignore", "ignoring", "skip"),
    *("forecast", "predict", "prediction", "estimate", "expect", "expected", "project", "grow"),
    *("projected", "future", "simulate", "guess", "extrapolate", "trend", "growth", "change"),
    *("delete", "remove", "update", "insert", "write", "correct", "fix", "edit", "modify", "drop"),
    *("truncate", "overwrite", "save", "export", "email", "mail", "send", "post", "upload", "book"),
    *("create", "set", "adjust", "replace", "rename", "move", "copy", "import", "clean", "merge"),
    *("plot", "chart", "draw", "graph", "visualise", "visualize", "diagram", "translate"),
    *("convert", "percent", "share", "proportion", "rate", "correlation", "correlate"),
    *("variance", "cumulative"),
    *("average", "mean", "median", "maximum", "minimum", "max", "min", "ratio", "percentage"),
    *("yesterday", "tomorrow", "year-to-date", "ytd", "week", "ago", "joke", "poem", "weather"),
    *("less", "fewer", "greater", "higher", "lower", "larger", "smaller", "under", "below"),
    *("exceed", "exceeding", "least", "most", "double", "triple", "half", "multiply", "divide"),
    *("subtract", "budget", "plan", "actual", "delta", "approve", "reverse", "reset", "undo"),
    *("previous", "last", "latest", "current", "recent", "oldest", "newest", "past"),
}
