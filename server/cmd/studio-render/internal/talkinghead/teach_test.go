package talkinghead

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// reach is how many hops before and after a hop the network hears.
const reach = 2 + 3 + 7

// A lesson is speech whose states are known: the halves of phones, hop by hop.
type lesson struct {
	features, speaker []float32
	speed             float64 // relative to the speech of which it is a variation
	states            []int
}

// label sets the states.
func (l *lesson) label(of *listener, sounds []spoken) {
	l.states = l.states[:0]
	next := 0
	for hop := range len(l.features) / features {
		at := hopTime(hop) * l.speed
		for next+1 < len(sounds) && at >= sounds[next].to {
			next++
		}
		state := 2 * of.phone(sounds[next].ipa)
		if at > (sounds[next].from+sounds[next].to)/2 {
			state++
		}
		l.states = append(l.states, state)
	}
}

// How the network learns: by the method Adam, which changes the weights against the gradient of the loss. That is the
// cross-entropy of the states, and that of closed lips.
const (
	lessonHops  = 128 // learned at once from a lesson
	pupils      = 4   // gradients that are computed at the same time and added
	fastest     = 2e-3
	keepSlope   = 0.9
	keepSquare  = 0.999
	leastSlope  = 1e-8
	leastChange = 3e-4 // of a probability
	closedCosts = 2    // times the cross-entropy of the states
)

// A pupil computes a gradient.
type pupil struct {
	listener  *listener
	expected  []float32 // the logarithm of the part of hops that each state has
	gradients [][]float32
	heard     [][]float32 // by each layer, hop by hop
	said      [][]float32
	loss      float64
}

// learn adds the gradient of some hops of a lesson.
func (p *pupil) learn(l *lesson, from, to int) {
	first, last := max(from-reach, 0), min(to+reach, len(l.states))
	hops := last - first
	before, speaker := l.features[first*features:last*features], l.speaker
	layers := p.listener.layers
	top := len(layers) - 1
	for i := range layers {
		layer := &layers[i]
		n := layer.outputs()
		x, y := p.heard[i][:0], slices.Grow(p.said[i][:0], hops*n)[:hops*n]
		for hop := range hops {
			x = layer.hear(x, before, hop, hops, speaker)
			layer.say(y[hop*n:(hop+1)*n], x[len(x)-layer.inputs:])
		}
		if i < top {
			rectify(y)
		}
		p.heard[i], p.said[i], before, speaker = x, y, y, nil
	}
	slopes, n := before, layers[top].outputs()
	for hop := range hops {
		row := slopes[hop*n : (hop+1)*n]
		if at := first + hop; at >= from && at < to {
			p.compare(row, l.states[at])
		} else {
			clear(row)
		}
	}
	for i := top; ; i-- {
		layer := &layers[i]
		n := layer.outputs()
		for j := range n {
			accumulate(p.gradients[i][j*layer.inputs:(j+1)*layer.inputs], p.heard[i], slopes[j:], n)
		}
		if i == 0 {
			break
		}
		below := p.said[i-1]
		next, x := make([]float32, len(below)), make([]float32, layer.inputs)
		for hop := range hops {
			clear(x)
			accumulate(x, layer.weights, slopes[hop*n:(hop+1)*n], 1)
			for k, away := range layer.around {
				at := min(max(hop+away, 0), hops-1)
				row := next[at*neurons : (at+1)*neurons]
				for j, v := range x[k*neurons : (k+1)*neurons] {
					row[j] += v
				}
			}
		}
		for j, v := range below {
			if v == 0 {
				next[j] = 0
			}
		}
		slopes = next
	}
}

// compare replaces the scores of a hop by the gradient of the loss.
func (p *pupil) compare(row []float32, state int) {
	for i, v := range p.expected { // need not be learned
		row[i] += v
	}
	most, sum := slices.Max(row), float32(0)
	for i, v := range row {
		row[i] = float32(math.Exp(float64(v - most)))
		sum += row[i]
	}
	closed := func(state int) bool { return p.listener.visemes[state/2] == lipsClosed }
	right := float32(1e-6) // the probability that the lips are as in state
	for i := range row {
		row[i] /= sum
		if closed(i) == closed(state) {
			right += row[i]
		}
	}
	p.loss -= math.Log(float64(row[state]) + 1e-6)
	for i, v := range row {
		row[i] += closedCosts * v
		if closed(i) == closed(state) {
			row[i] -= closedCosts * v / right
		}
	}
	row[state]--
}

// accumulate adds the vectors to sum, each times every step-th scale. It ignores tiny scales.
func accumulate(sum, vectors, scales []float32, step int) {
	var at [4]int
	var by [4]float32
	n := 0
	add := func() {
		w := len(sum)
		a, b, c, d := vectors[at[0]*w:][:w], vectors[at[1]*w:][:w], vectors[at[2]*w:][:w], vectors[at[3]*w:][:w]
		p, q, r, s := by[0], by[1], by[2], by[3]
		for i := range sum {
			sum[i] += p*a[i] + q*b[i] + r*c[i] + s*d[i]
		}
		n, by = 0, [4]float32{}
	}
	for i := 0; i*step < len(scales); i++ {
		if v := scales[i*step]; v > leastChange || v < -leastChange {
			at[n], by[n] = i, v
			if n++; n == 4 {
				add()
			}
		}
	}
	if n > 0 {
		add()
	}
}

// teach teaches lessons to the network until it has heard a number of hops.
func (l *listener) teach(t *testing.T, lessons []*lesson, hops int, random *rand.Rand) {
	type part struct {
		of   *lesson
		from int
	}
	var parts []part
	expected, total := make([]float32, 2*len(l.phones)), 0.0
	for _, of := range lessons {
		for _, state := range of.states {
			expected[state]++
			total++
		}
		for from := 0; from < len(of.states); from += lessonHops {
			parts = append(parts, part{of, from})
		}
	}
	for i, n := range expected {
		expected[i] = float32(math.Log((float64(n) + 1) / total))
	}
	all := make([]pupil, pupils)
	var slopes, squares [][]float32
	for i := range all {
		p := &all[i]
		p.listener, p.expected, p.heard, p.said = l, expected, make([][]float32, len(l.layers)), make([][]float32, len(l.layers))
		for _, layer := range l.layers {
			p.gradients = append(p.gradients, make([]float32, len(layer.weights)))
		}
	}
	for _, layer := range l.layers {
		slopes, squares = append(slopes, make([]float32, len(layer.weights))), append(squares, make([]float32, len(layer.weights)))
	}
	steps := hops / (pupils * lessonHops)
	var loss, heard float64
	for step := range steps {
		var group sync.WaitGroup
		for i := range all {
			chosen := parts[random.IntN(len(parts))]
			to := min(chosen.from+lessonHops, len(chosen.of.states))
			heard += float64(to - chosen.from)
			group.Go(func() { all[i].learn(chosen.of, chosen.from, to) })
		}
		group.Wait()
		done := float64(step) / float64(steps)
		rate := fastest * min(1-done, 20*done+0.05)
		rate *= math.Sqrt(1-math.Pow(keepSquare, float64(step+1))) / (1 - math.Pow(keepSlope, float64(step+1)))
		for k := range l.layers {
			for j := range l.layers[k].weights {
				var g float32
				for i := range all {
					g += all[i].gradients[k][j]
					all[i].gradients[k][j] = 0
				}
				g /= pupils * lessonHops
				slopes[k][j] = keepSlope*slopes[k][j] + (1-keepSlope)*g
				squares[k][j] = keepSquare*squares[k][j] + (1-keepSquare)*g*g
				l.layers[k].weights[j] -= float32(rate) * slopes[k][j] / (float32(math.Sqrt(float64(squares[k][j]))) + leastSlope)
			}
		}
		for i := range all {
			loss += all[i].loss
			all[i].loss = 0
		}
		if (step+1)%(steps/10) == 0 {
			t.Logf("%3.0f %%: cross-entropy %.3f", 100*done, loss/heard)
			loss, heard = 0, 0
		}
	}
}
