# SPDX-License-Identifier: Apache-2.0
"""Chakra traces that protobuf's own library writes. Heddle reads them without it."""

import json
import unittest
from pathlib import Path

import heddle
import support

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.internal import encoder
except ImportError:
    descriptor_pb2 = None

TRACES = support.ROOT / "configs/traces"
# The fields of mlcommons/chakra, schema/protobuf/et_def.proto, that tests write: number, type, name.
# A type with a capital letter is a message of that name; "*" says that the field is repeated.
SCHEMA = {
    "Int64List": ["1 int64* values"],
    "AttributeProto": ["1 string name", "2 string doc_string", "3 double double_val", "5 float float_val",
                       "7 int32 int32_val", "9 int64 int64_val", "10 Int64List int64_list", "11 uint32 uint32_val",
                       "13 uint64 uint64_val", "15 sint32 sint32_val", "17 sint64 sint64_val",
                       "19 fixed32 fixed32_val", "21 fixed64 fixed64_val", "23 sfixed32 sfixed32_val",
                       "25 sfixed64 sfixed64_val", "27 bool bool_val", "29 string string_val", "31 bytes bytes_val"],
    "GlobalMetadata": ["1 string version", "2 AttributeProto* attr"],
    "IOInfo": ["1 string values", "2 string shapes", "3 string types"],
    # The type is an enum, which is a varint as int32 is.
    "Node": ["1 uint64 id", "2 string name", "3 int32 type", "4 uint64* ctrl_deps", "5 uint64* data_deps",
             "6 uint64 start_time_micros", "7 uint64 duration_micros", "8 IOInfo inputs", "9 IOInfo outputs",
             "10 AttributeProto* attr"],
}
STAR = {"topology": {"kind": "leaf_spine", "leaves": 1, "spines": 1, "hosts_per_leaf": 2,
                     "host_link": {"rate": "100Gbps", "delay": "1us"}},
        "transport": {"kind": "rocev2", "cc": "none", "framing": "ns3_rdma"}, "lb": "ecmp"}
COMPUTE, SEND, RECEIVE = 4, 5, 6


class Schema:
    """Classes of Chakra's messages, which protobuf makes at run time."""

    def __init__(self, is_packed=True):
        file = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package="chakra", syntax="proto3")
        for name, fields in SCHEMA.items():
            message = file.message_type.add(name=name)
            for field in fields:
                self._add(message, *field.split(), is_packed)
        pool = descriptor_pool.DescriptorPool()
        pool.Add(file)
        for name in SCHEMA:
            setattr(self, name, self._class_of(pool, pool.FindMessageTypeByName("chakra." + name)))

    @staticmethod
    def _add(message, number, kind, name, is_packed):
        field = message.field.add(name=name, number=int(number))
        repeated = kind.endswith("*")
        kind = kind.rstrip("*")
        field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
        if kind[0].isupper():
            field.type = field.TYPE_MESSAGE
            field.type_name = ".chakra." + kind
        else:
            field.type = getattr(field, "TYPE_" + kind.upper())
            if repeated:
                field.options.packed = is_packed
        if name.endswith("_val") or name.endswith("_list"):
            if not message.oneof_decl:
                message.oneof_decl.add(name="value")
            field.oneof_index = 0

    @staticmethod
    def _class_of(pool, descriptor):
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(descriptor)
        return message_factory.MessageFactory(pool).GetPrototype(descriptor)

    def node(self, attributes=(), **fields):
        """A node with attributes (name, field, value)."""
        node = self.Node(**fields)
        for name, field, value in attributes:
            attribute = node.attr.add(name=name)
            if field.endswith("_list"):
                getattr(attribute, field).values.extend(value)
            else:
                setattr(attribute, field, value)
        return node


def framed(messages):
    """A file of messages, each behind its length."""
    parts = []
    for message in messages:
        data = message.SerializeToString(deterministic=True)
        parts += [encoder._VarintBytes(len(data)), data]  # pylint: disable=protected-access
    return b"".join(parts)


def from_json(schema, text):
    """The messages of a trace in Chakra's JSON form."""
    messages = [schema.GlobalMetadata(version="0.0.4")]
    for its in json.loads(text)["workload_graph"]:
        keys = ("comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag")
        numbers = [(key, "int64_val", its[key]) for key in keys if key in its]
        words = [(key, "string_val", its[key]) for key in ("pg_name",) if key in its]
        flags = [(key, "bool_val", its[key]) for key in ("is_cpu_op",) if key in its]
        messages.append(schema.node(numbers + words + flags, id=its["Id"], name=its["Name"], type=its["NodeType"],
                                    data_deps=its.get("data_deps", []), ctrl_deps=its.get("ctrl_deps", []),
                                    duration_micros=its.get("runtime", 0)))
    return messages


@unittest.skipUnless(descriptor_pb2, "google.protobuf is not installed; scripts/setup python")
class ChakraTest(unittest.TestCase):
    def setUp(self):
        context = support.folder()
        self.folder = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def tables(self, name, **trace):
        """What a trace gives: a table by name."""
        workload = [{"kind": "trace", "file": str(self.folder / name), "ranks": 2, **trace}]
        run = heddle.run({**STAR, "workload": workload, "measure": {"operations": True}}, progress=False, force=True,
                         out=f"results-{trace['format']}-{name}")
        names = ("flows.csv", "jobs.csv", "iterations.csv", "operations.csv")
        return {name: (run.folder / name).read_text(encoding="utf-8") for name in names}

    # Heddle's copy of the shipped trace is what protobuf writes.
    def test_the_shipped_trace_is_its_json_form(self):
        schema = Schema()
        for rank in range(4):
            messages = from_json(schema, (TRACES / f"step.{rank}.json").read_text(encoding="utf-8"))
            self.assertEqual((TRACES / f"step.{rank}.et").read_bytes(), framed(messages), rank)

    def test_both_forms_give_the_same_results(self):
        ping = {"workload_graph": [
            {"Id": 1, "Name": "compute", "NodeType": COMPUTE, "runtime": 3},
            {"Id": 2, "Name": "ping", "NodeType": SEND, "data_deps": [1], "comm_dst": 1, "comm_size": 1000,
             "comm_tag": 7},
            {"Id": 3, "Name": "pong", "NodeType": RECEIVE, "comm_src": 1, "comm_size": 70_000, "comm_tag": 300}]}
        pong = {"workload_graph": [
            {"Id": 9, "Name": "pong", "NodeType": SEND, "data_deps": [8], "comm_dst": 0, "comm_size": 70_000,
             "comm_tag": 300},
            {"Id": 8, "Name": "ping", "NodeType": RECEIVE, "comm_src": 0, "comm_size": 1000, "comm_tag": 7}]}
        for is_packed in (True, False):
            schema = Schema(is_packed)
            for rank, graph in enumerate((ping, pong)):
                text = json.dumps(graph)
                Path(f"a.{rank}.json").write_text(text, encoding="utf-8")
                Path(f"a.{rank}.et").write_bytes(framed(from_json(schema, text)))
            wire = self.tables("a", format="chakra")
            self.assertEqual(wire, self.tables("a", format="chakra_json"))
        # A message of p packets takes 2 us and the time of p + 1 packets of 1048 B. The ping leaves after 3 us, the
        # pong behind the ping's ACK of 60 B.
        end = 3_000_000 + (2_000_000 + 2 * 83_840) + 4_800 + (2_000_000 + 71 * 83_840)
        header, row = (line.split(",") for line in wire["iterations.csv"].splitlines()[:2])
        self.assertEqual(int(row[header.index("end_ps")]), end)

    # Every type of number that the format has, and numbers that take several bytes.
    def test_attributes_may_have_any_type(self):
        schema = Schema()
        ends = set()
        for field in ("int32_val", "int64_val", "uint32_val", "uint64_val", "sint32_val", "sint64_val", "fixed32_val",
                      "fixed64_val", "sfixed32_val", "sfixed64_val"):
            for rank, (kind, peer) in enumerate(((SEND, "comm_dst"), (RECEIVE, "comm_src"))):
                attributes = [(peer, field, 1 - rank), ("comm_size", field, 123_456), ("comm_tag", field, 70_000),
                              ("is_cpu_op", "bool_val", False)]
                Path(f"b.{rank}.et").write_bytes(framed([
                    schema.GlobalMetadata(version="0.0.4", attr=[schema.AttributeProto(name="schema", string_val="x")]),
                    schema.node(attributes, id=2 ** 40, type=kind)]))
            ends.add(self.tables("b", format="chakra")["flows.csv"])
        self.assertEqual(len(ends), 1)
        self.assertIn(",123456,", ends.pop())

    def test_it_names_what_it_does_not_use(self):
        schema = Schema()
        attributes = [("involved_dim", "int64_list", [1, 0]), ("weight", "double_val", 0.5)]
        nodes = [schema.node(attributes, id=1, type=COMPUTE, duration_micros=2, start_time_micros=5,
                             outputs=schema.IOInfo(shapes="[[4]]"))]
        for rank in range(2):
            Path(f"c.{rank}.et").write_bytes(framed([schema.GlobalMetadata(version="0.0.4"), *nodes]))
        with self.assertWarnsRegex(UserWarning, "ignored: shapes, start_time_micros; attributes involved_dim, weight"):
            self.tables("c", format="chakra")


if __name__ == "__main__":
    unittest.main()
