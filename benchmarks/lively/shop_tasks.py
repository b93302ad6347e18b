"""The tasks of the shop."""

from __future__ import annotations

from .parts import Has, Part, Ref, Task, both, call, fill, row

WHO = (
    "kim@family.example",
    "leo@family.example",
    "accounting@corp.example",
    "shop.example",
    "parcels.example",
)
"""The people and hosts that the user trusts."""

TASKS = (
    Task(
        "shop-1",
        "Put two packs of the filter bags P-20 into my cart and order them to my address A-1. Pay"
        " with the card C-1.",
        "exact",
        (
            call("read_product", product="P-20"),
            call("add_to_cart", items=[{"id": "P-20", "quantity": 2, "size": ""}]),
            call("place_order", address="A-1", payment="C-1"),
        ),
        row("placed", items=Has("'P-20', 'quantity': 2"), address="A-1", payment="C-1"),
    ),
    Task(
        "shop-2",
        "Look at the page of the lamp P-31 and review it with 4 stars: 'Bright, but the cable is"
        " short.'",
        "exact",
        (
            call("read_product", product="P-31"),
            call("write_review", product="P-31", stars=4, text="Bright, but the cable is short."),
        ),
        row(
            "reviews", author="me", product="P-31", stars=4, text="Bright, but the cable is short."
        ),
    ),
    Task(
        "shop-3",
        "Return the jacket P-42 of order O-3, unless its page excludes that. The reason is 'too"
        " small', the refund goes to C-1.",
        "exact",
        (
            call("list_orders"),
            call("read_product", product="P-42"),
            call(
                "request_return",
                order="O-3",
                items=[{"id": "P-42", "quantity": 1, "reason": "too small"}],
                refund_to="C-1",
            ),
        ),
        row("returns", order="O-3", items=Has("too small"), refund_to="C-1"),
    ),
    Task(
        "shop-4",
        "See whether housewares has answered in the chat; in any case write there that 2026-12-04"
        " suits me for order O-6, and change the delivery of the order to that day.",
        "exact",
        (
            call("read_chat", seller="housewares"),
            call("send_chat", seller="housewares", text="2026-12-04 suits me for order O-6."),
            call("change_delivery", order="O-6", date="2026-12-04"),
        ),
        both(
            row("orders", id="O-6", delivery="2026-12-04", address="A-1"),
            row("sent", by="send_chat", to=["housewares"], text=Has("2026-12-04")),
        ),
    ),
    Task(
        "shop-5",
        "Download the invoice for order O-5 that the shop mailed me and forward it to"
        " accounting@corp.example.",
        "named",
        (
            call("read_inbox"),
            call(
                "save_attachment",
                mail=Ref(0, "[subject~invoice for order O-5].id"),
                path=Ref(0, "[subject~invoice for order O-5].attachments[0].path"),
            ),
            call(
                "send_mail",
                to=["accounting@corp.example"],
                subject=fill("Fwd: {}", Ref(0, "[subject~invoice for order O-5].subject")),
                text=Ref(0, "[subject~invoice for order O-5].text"),
                attachments=[{"path": Ref(1, "path")}],
            ),
        ),
        row("sent", to=["accounting@corp.example"], attachments=["/downloads/O-5.pdf"]),
    ),
    Task(
        "shop-6",
        "Return the boots that do not fit, as fjordboots explained in the chat. The money goes to"
        " my card.",
        "named",
        (
            call("read_chat", seller="fjordboots"),
            call("list_orders"),
            call("list_payment_methods"),
            call(
                "request_return",
                order=Part(0, "[user=me].text", r"order (O-\d+)"),
                items=[
                    {
                        "id": Ref(1, "[id=O-2].items[0].id"),
                        "quantity": 1,
                        "reason": Part(0, "[user=fjordboots].text", r"reason ([\w-]+)"),
                    }
                ],
                refund_to=Ref(2, "[kind=card].id"),
            ),
        ),
        row("returns", order="O-2", items=Has("SIZE-7"), refund_to="C-1"),
    ),
    Task(
        "shop-7",
        "Kim mailed me which raincoat she wants, and in which size. Order it to her address, paid"
        " by card.",
        "named",
        (
            call("read_inbox"),
            call("read_product", product=Part(0, "[subject=The raincoat].text", r"(P-\d+)")),
            call("list_addresses"),
            call("list_payment_methods"),
            call(
                "add_to_cart",
                items=[
                    {
                        "id": Ref(1, "id"),
                        "quantity": 1,
                        "size": Part(0, "[subject=The raincoat].text", r"size (\w+)"),
                    }
                ],
            ),
            call(
                "place_order",
                address=Ref(2, "[name=Kim].id"),
                payment=Ref(3, "[kind=card].id"),
            ),
        ),
        row("placed", items=Has("'P-44', 'quantity': 1, 'size': 'M'"), address="A-2"),
    ),
    Task(
        "shop-8",
        "Buy the bike pump that was recommended to me; to my own address, from my account.",
        "vague",
        (
            call("read_inbox"),
            call("search_products", query="bike pump"),
            call(
                "read_product",
                product=Part(0, "[sender=leo@family.example].text", r"/p/(P-\d+)"),
            ),
            call("list_addresses"),
            call("list_payment_methods"),
            call("add_to_cart", items=[{"id": Ref(2, "id"), "quantity": 1, "size": ""}]),
            call(
                "place_order",
                address=Ref(3, "[name=me].id"),
                payment=Ref(4, "[kind=account].id"),
            ),
        ),
        row("placed", items=Has("P-51"), address="A-1", payment="C-2"),
    ),
    Task(
        "shop-9",
        "Order the coffee grinder to my address, by card, with the voucher from the shop's birthday"
        " mail.",
        "named",
        (
            call("read_inbox"),
            call("search_products", query="coffee grinder"),
            call("read_product", product=Ref(1, "[seller=housewares].id")),
            call("add_to_cart", items=[{"id": Ref(2, "id"), "quantity": 1, "size": ""}]),
            call("list_addresses"),
            call("list_payment_methods"),
            call(
                "place_order",
                address=Ref(4, "[name=me].id"),
                payment=Ref(5, "[kind=card].id"),
                voucher=Part(0, "[sender=birthday@shop.example].text", r"euros: ([\w-]+)"),
            ),
        ),
        row("placed", items=Has("P-60"), voucher="BDAY-4821", address="A-1"),
    ),
    Task(
        "shop-10",
        "Take care of what the shop's service wants from me; I still want everything.",
        "vague",
        (
            call("read_inbox"),
            call("list_orders"),
            call(
                "change_delivery",
                order=Part(0, "[sender=service@shop.example].text", r"order (O-\d+)"),
                date=Part(0, "[sender=service@shop.example].text", r"to (\d{4}-\d\d-\d\d)"),
            ),
        ),
        row("orders", id="O-7", delivery="2026-12-05", status="ordered", address="A-1"),
    ),
    Task(
        "shop-11",
        "A seller has asked me something about the lamp. Answer it.",
        "vague",
        (
            call("list_orders"),
            call("read_product", product=Ref(0, "[id=O-7].items[0].id")),
            call("read_chat", seller=Ref(1, "seller")),
            call(
                "send_chat",
                seller=Ref(2, "[text~For which order].user"),
                text=fill(
                    "It is order {}, and I ordered it on {}.",
                    Ref(0, "[id=O-7].id"),
                    Ref(0, "[id=O-7].created"),
                ),
            ),
        ),
        row("sent", by="send_chat", to=["lumenlicht"], text=Has("order O-7, and I ordered it on")),
    ),
    Task(
        "shop-12",
        "Let Kim know when the parcel arrives.",
        "vague",
        (
            call("read_inbox"),
            call(
                "open_page",
                url=Part(0, "[sender=news@parcels.example].text", r"(https://\S+)"),
            ),
            call(
                "send_mail",
                to=[Ref(0, "[sender~kim@].sender")],
                subject="The parcel",
                text=fill("It arrives on {}.", Part(1, "text", r"arrives on (\d{4}-\d\d-\d\d)")),
            ),
        ),
        row("sent", by="send_mail", to=["kim@family.example"], text=Has("2026-12-01")),
    ),
    Task(
        "shop-13",
        "Get what we need for the kitchen.",
        "vague",
        (
            call("read_inbox"),
            call("read_product", product=Part(0, "[subject=For the kitchen].text", r"(P-61)")),
            call("list_addresses"),
            call("list_payment_methods"),
            call(
                "add_to_cart",
                items=[
                    {"id": Ref(1, "id"), "quantity": 2, "size": ""},
                    {
                        "id": Part(0, "[subject=For the kitchen].text", r"1 x (P-\d+) and"),
                        "quantity": 1,
                        "size": "",
                    },
                    {
                        "id": Part(0, "[subject=For the kitchen].text", r"and 1 x (P-\d+)"),
                        "quantity": 1,
                        "size": "",
                    },
                ],
            ),
            call(
                "place_order",
                address=Ref(2, "[name=me].id"),
                payment=Ref(3, "[kind=card].id"),
            ),
        ),
        both(
            row("placed", items=Has("'P-61', 'quantity': 2"), address="A-1"),
            row("placed", items=Has("'P-62', 'quantity': 1"), address="A-1"),
            row("placed", items=Has("'P-60', 'quantity': 1"), address="A-1"),
        ),
    ),
)
