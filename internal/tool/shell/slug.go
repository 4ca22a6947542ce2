package shell

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// slug returns an id of two words that people and models can tell apart. From
// the twentieth try on it carries a number.
func slug(try int) string {
	adjectives, nouns := strings.Fields(adjectiveWords), strings.Fields(nounWords)
	id := adjectives[rand.IntN(len(adjectives))] + "-" + nouns[rand.IntN(len(nouns))]
	if try >= 20 {
		id = fmt.Sprintf("%s-%d", id, try)
	}
	return id
}

const (
	adjectiveWords = `agile amber ample azure balmy bold brave breezy bright brisk bronze calm candid cheery chilly civic
		clear clever cool coral cosy crimson crisp cubic daring dapper deep dusty eager early earnest easy fabled fair fancy
		fast fearless fine firm fleet fluent fond frank fresh frosty gentle giant glad golden grand green happy hardy hazel
		hidden honest humble icy indigo ivory jolly jovial keen kind lively loyal lucid lucky lunar major mellow merry mild
		misty modest neat nimble noble novel olive patient pearly placid plucky polar polite proud quick quiet rapid ready
		regal robust rosy round royal rustic sage scarlet serene sharp shiny silent silver simple sleek smooth snowy solar
		solid spry stable starry steady sterling still stout sturdy subtle sunny swift tidy tranquil true upbeat valiant
		velvet vivid warm wise witty young zesty`
	nounWords = `acorn anchor apple arrow aspen badger bamboo basil bay beacon beaver birch bison bloom brook canyon cedar
		cliff cloud clover comet condor coral cove crane creek crystal daisy dawn delta dolphin dove dune eagle echo elm ember
		falcon fern field finch fjord flame flint forest fox garden geyser glacier glade grove gull harbor hare hawk hazel
		heron hill ibex iris island ivy jasper juniper kestrel lagoon lake lantern lark laurel leaf lemur lily linden lion
		lotus lynx maple marsh meadow meteor mesa moon moss mountain nebula oak oasis ocean orchid otter owl panda path peak
		pebble pine planet plum pond poplar prairie puffin quartz quail rain raven reef ridge river robin rose sail sequoia
		shore sky sparrow spring spruce star stone stream summit swan thistle tide tiger trail tulip tundra valley wave
		willow wind wolf wren yarrow`
)
