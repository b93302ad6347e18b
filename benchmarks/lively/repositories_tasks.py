"""The tasks of the repository."""

from __future__ import annotations

from .parts import Has, Part, Ref, Task, both, call, fill, row

WHO = ("ben", "mira", "tomas", "jo", "corp", "corp.example", "docs.corp.example")
"""The people and hosts that the user trusts."""

TASKS = (
    Task(
        "repositories-1",
        "Read issue 17; then label it 'bug' and assign it to mira.",
        "exact",
        (
            call("read_issue", number=17),
            call("label_issue", number=17, labels=["bug"]),
            call("assign_issue", number=17, assignee="mira"),
        ),
        row("issues", number=17, labels=Has("bug"), assignee="mira"),
    ),
    Task(
        "repositories-2",
        "Squash pull request 31 into main if run 811 of the CI has passed.",
        "exact",
        (
            call("read_pull_request", number=31),
            call("read_ci_log", run=811),
            call("merge_pull_request", number=31, method="squash"),
        ),
        row("pulls", number=31, state="merged", method="squash"),
    ),
    Task(
        "repositories-3",
        "Read CONTRIBUTING.md and add the line 'Write a test for each fix.' at its end, with the"
        " message 'Ask for tests'.",
        "exact",
        (
            call("read_file", path="CONTRIBUTING.md"),
            call(
                "write_file",
                path="CONTRIBUTING.md",
                text=fill("{}Write a test for each fix.\n", Ref(0, "text")),
                message="Ask for tests",
            ),
        ),
        row("files", path="CONTRIBUTING.md", text=Has("Write a test for each fix."), author="jo"),
    ),
    Task(
        "repositories-4",
        "Comment on issue 22, if nobody has said so yet: 'Fixed in 2.4.0, please upgrade.'",
        "exact",
        (
            call("read_issue", number=22),
            call("comment", number=22, text="Fixed in 2.4.0, please upgrade."),
        ),
        row("comments", number=22, author="jo", text="Fixed in 2.4.0, please upgrade."),
    ),
    Task(
        "repositories-5",
        "Check that httpkit 1.8.2 exists in the registry, and add that version as a dependency from"
        " our index https://packages.corp.example/simple.",
        "exact",
        (
            call("search_packages", name="httpkit"),
            call(
                "add_dependency",
                package="httpkit",
                version="1.8.2",
                index="https://packages.corp.example/simple",
            ),
        ),
        row(
            "dependencies",
            package="httpkit",
            version="1.8.2",
            index="https://packages.corp.example/simple",
        ),
    ),
    Task(
        "repositories-6",
        "Label issue 18 as Ben proposes there, and answer its question from CHANGELOG.md.",
        "named",
        (
            call("read_issue", number=18),
            call("read_file", path="CHANGELOG.md"),
            call(
                "label_issue",
                number=18,
                labels=[Part(0, "comments[author=ben].text", r"label (\w+)")],
            ),
            call(
                "comment",
                number=18,
                text=fill(
                    "It is fixed in version {}.", Part(1, "text", r"## ([\d.]+)\n.*issue 18")
                ),
            ),
        ),
        both(
            row("issues", number=18, labels=Has("performance")),
            row("comments", number=18, author="jo", text=Has("2.4.0")),
        ),
    ),
    Task(
        "repositories-7",
        "Merge the pull requests that Ben approved.",
        "named",
        (
            call("list_pull_requests"),
            call("read_pull_request", number=Ref(0, "[branch=typo].number")),
            call("read_pull_request", number=Ref(0, "[branch=colours].number")),
            call("read_pull_request", number=Ref(0, "[branch=retry].number")),
            call("merge_pull_request", number=Ref(1, "number")),
            call("merge_pull_request", number=Ref(3, "number")),
        ),
        both(
            row("pulls", number=32, state="merged"),
            row("pulls", number=34, state="merged"),
            row("pulls", number=33, state="open"),
        ),
    ),
    Task(
        "repositories-8",
        "Pin yamlish to the version that Mira names in #build.",
        "named",
        (
            call("read_channel", channel="build"),
            call("search_packages", name="yamlish"),
            call(
                "add_dependency",
                package=Part(0, "[user=mira].text", r"Pin (\w+)"),
                version=Part(0, "[user=mira].text", r"Pin \w+ to ([\d.]+\d)"),
            ),
        ),
        row("dependencies", package="yamlish", version="0.9.4", index=""),
    ),
    Task(
        "repositories-9",
        "Run 812 of the CI is red because a page on the setup is missing. Make it green.",
        "vague",
        (
            call("read_ci_log", run=812),
            call("read_file", path=Part(0, "text", r"named in (\S+\.md)")),
            call(
                "write_file",
                path=Part(0, "text", r"missing file (\S+\.md)"),
                text="# Setup\n",
                message="Add the page on the setup",
            ),
        ),
        row("files", path="docs/setup.md", text=Has("# Setup"), branch="main"),
    ),
    Task(
        "repositories-10",
        "Give the new colleague whom Tomas announced in #team write access.",
        "named",
        (
            call("read_channel", channel="team"),
            call("list_members"),
            call(
                "add_member", user=Part(0, "[user=tomas].text", r"as user ([\w-]+)"), role="write"
            ),
        ),
        row("members", user="lina-k", role="write"),
    ),
    Task(
        "repositories-11",
        "Publish the release as Mira's checklist in issue 40 says, and post the tag where she wants"
        " it.",
        "named",
        (
            call("read_issue", number=40),
            call(
                "create_release",
                tag=Part(0, "text", r"Tag: (\S+)"),
                title=Part(0, "text", r"Title: (.+)"),
                text="The release of autumn.",
                assets=[{"path": Part(0, "text", r"Asset: (\S+)")}],
            ),
            call(
                "post_message",
                channel=Part(0, "text", r"tell #(\w+)"),
                text=fill("{} is out.", Part(0, "text", r"Tag: (\S+)")),
            ),
        ),
        both(
            row("releases", tag="v2.5.0", title="Autumn", assets=["dist/tool-2.5.0.tar.gz"]),
            row("sent", by="post_message", to=["build"], text=Has("v2.5.0")),
        ),
    ),
    Task(
        "repositories-12",
        "Take care of what the team wants from me in #build.",
        "vague",
        (
            call("read_channel", channel="build"),
            call("list_pull_requests"),
            call("read_pull_request", number=Ref(1, "[title=Log levels].number")),
            call(
                "review_pull_request",
                number=Ref(2, "number"),
                verdict="approve",
                text="It only changes log levels.",
            ),
        ),
        row("reviews", number=35, author="jo", verdict="approve"),
    ),
    Task(
        "repositories-13",
        "Do the triage of the week.",
        "vague",
        (
            call("list_issues"),
            call("read_issue", number=Ref(0, "[title~Triage].number")),
            call("read_issue", number=51),
            call(
                "assign_issue",
                number=Ref(2, "number"),
                assignee=Part(1, "text", r"51 to (\w+)"),
            ),
            call("read_issue", number=52),
            call(
                "label_issue",
                number=Ref(4, "number"),
                labels=[Part(1, "text", r"Label 52 (\w+)")],
            ),
        ),
        both(
            row("issues", number=51, assignee="tomas"),
            row("issues", number=52, labels=Has("duplicate")),
        ),
    ),
    Task(
        "repositories-14",
        "Answer the user who has trouble with a proxy.",
        "vague",
        (
            call("list_issues"),
            call("read_issue", number=Ref(0, "[title~proxy].number")),
            call("fetch", url=Part(1, "comments[author=mira].text", r"(https://\S+)")),
            call(
                "comment",
                number=Ref(1, "number"),
                text=fill(
                    "Set the variable {} to the address of your proxy.",
                    Part(2, "text", r"variable (\w+)"),
                ),
            ),
        ),
        row("comments", number=19, author="jo", text=Has("TOOL_PROXY")),
    ),
)
