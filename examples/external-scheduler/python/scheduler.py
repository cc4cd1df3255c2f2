#!/usr/bin/env python3
"""A scheduler that assigns each target to the cheapest of its candidates, by the label "price" of cluster types.

It reads a request from standard input and writes the response to standard output:
docs/reference/scheduler-protocol.md. As an extender, it refuses cluster types without a price, and scores the others.
"""
import json
import sys


def price(cluster_type):
    try:
        return float(cluster_type.get("labels", {})["price"])
    except (KeyError, ValueError):
        return None


def main():
    request = json.load(sys.stdin)
    response = {"version": 1, "digest": request["digest"]}
    prices = {c["name"]: price(c) for c in request["clusterTypes"]}
    highest = max((p for p in prices.values() if p), default=1)
    if request["task"] == "schedule":
        wanted = request["policy"].get("maxClusterTypes", 1)
        response["decisions"] = [
            {"target": t["name"], "clusterType": c, "reason": f"{prices[c]:g} per hour"}
            for t in request["targets"]
            for c in sorted(
                (c for c in t["candidates"] if prices[c] is not None),
                # What is assigned stays if another cluster type only costs the same.
                key=lambda c: (prices[c], c not in t.get("previous", []), c),
            )[:wanted]
        ]
    else:
        pairs = [(t["name"], c) for t in request["targets"] for c in t["candidates"]]
        response["refused"] = [
            {"target": t, "clusterType": c, "reason": "it has no price"} for t, c in pairs if prices[c] is None
        ]
        response["scores"] = [
            {"target": t, "clusterType": c, "score": round(100 * (1 - prices[c] / highest))}
            for t, c in pairs if prices[c] is not None
        ]
    json.dump(response, sys.stdout)


main()
